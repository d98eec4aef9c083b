// Runs a function over whole vectors at any length. Included once a target, so the guard is
// Highway's.
#if defined(STEEPEST_KERNELS_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef STEEPEST_KERNELS_LANES_INL_H
#undef STEEPEST_KERNELS_LANES_INL_H
#else
#define STEEPEST_KERNELS_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>
#include <tuple>
#include <type_traits>
#include <utility>

HWY_BEFORE_NAMESPACE();
namespace steepest::kernels {
namespace HWY_NAMESPACE {

/// body(pointers...) works on exactly `lanes` elements of each pointer. The last few elements go
/// through buffers filled up with zeros: const pointers are read, others are written.
template <class Body, class... T>
HWY_INLINE void ForLanes(std::size_t lanes, std::size_t n, const Body& body, T*... pointers) {
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body((pointers + i)...);
  if (i == n) return;
  const std::size_t rest = n - i;
  constexpr std::size_t kMost = 64;  // lanes of a block of bytes, and more than any vector's floats
  std::tuple<std::remove_const_t<T>[kMost]...> buffers;
  [&]<std::size_t... K>(std::index_sequence<K...>) {
    ((std::memset(std::get<K>(buffers), 0, sizeof std::get<K>(buffers)),
      std::memcpy(std::get<K>(buffers), pointers + i, rest * sizeof(T))),
     ...);
    body(static_cast<T*>(std::get<K>(buffers))...);
    const auto write_back = [&](auto* to, const auto* from) {
      if constexpr (!std::is_const_v<std::remove_pointer_t<decltype(to)>>)
        std::memcpy(to, from, rest * sizeof *to);
    };
    (write_back(pointers + i, std::get<K>(buffers)), ...);
  }
  (std::make_index_sequence<sizeof...(T)>());
}

}  // namespace HWY_NAMESPACE
}  // namespace steepest::kernels
HWY_AFTER_NAMESPACE();

#endif
