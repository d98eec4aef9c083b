#include "steepest/tensor/overlap.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <tuple>
#include <vector>

namespace steepest {
namespace {

using Pair = std::optional<std::pair<std::size_t, std::size_t>>;

/// The bytes from the first to the last element, holes included.
struct Extent {
  std::size_t index;
  c10::Device device;
  std::uintptr_t begin, end;
};

bool has_memory(const at::Tensor& t) {
  return t.defined() && t.layout() == at::kStrided && t.numel() > 0 && t.has_storage() &&
         t.const_data_ptr() != nullptr;
}

Extent extent_of(const at::Tensor& t, std::size_t index) {
  std::int64_t last = 0;
  for (std::int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
  const auto begin = reinterpret_cast<std::uintptr_t>(t.const_data_ptr());
  return {index, t.device(), begin,
          begin + static_cast<std::uintptr_t>(last + 1) * t.element_size()};
}

/// True where every stride steps over all that smaller strides reach; some tensors without overlap
/// are not nested.
bool nested(const at::Tensor& t) {
  std::vector<std::pair<std::int64_t, std::int64_t>> dims;  // stride, size
  for (std::int64_t d = 0; d < t.dim(); ++d)
    if (t.size(d) > 1) dims.emplace_back(t.stride(d), t.size(d));
  std::ranges::sort(dims);
  std::int64_t reach = 0;
  for (const auto& [stride, size] : dims) {
    if (stride <= reach) return false;
    reach += (size - 1) * stride;
  }
  return true;
}

/// visit(byte address) for every element, until one says false.
template <class Visit>
bool over_elements(const at::Tensor& t, const Visit& visit) {
  std::vector<std::int64_t> at(static_cast<std::size_t>(t.dim()), 0);
  auto address = reinterpret_cast<std::uintptr_t>(t.const_data_ptr());
  const std::uintptr_t bytes = t.element_size();
  while (true) {
    if (!visit(address)) return false;
    std::int64_t d = t.dim() - 1;
    for (; d >= 0; --d) {
      auto& i = at[static_cast<std::size_t>(d)];
      const auto step = static_cast<std::uintptr_t>(t.stride(d)) * bytes;
      if (++i < t.size(d)) {
        address += step;
        break;
      }
      address -= step * static_cast<std::uintptr_t>(t.size(d) - 1);
      i = 0;
    }
    if (d < 0) return true;
  }
}

/// Marks the bytes of every element of tensors that lie between each other.
Pair overlap_among(std::span<const at::Tensor> tensors, std::span<const Extent> extents) {
  const std::uintptr_t begin = extents.front().begin;
  std::uintptr_t end = 0;
  for (const Extent& each : extents) end = std::max(end, each.end);
  std::vector<bool> taken(end - begin, false);
  for (std::size_t i = 0; i < extents.size(); ++i) {
    const at::Tensor& t = tensors[extents[i].index];
    const std::size_t bytes = t.element_size();
    std::uintptr_t shared = 0;
    const bool alone = over_elements(t, [&](std::uintptr_t address) {
      for (std::size_t b = 0; b < bytes; ++b) {
        if (taken[address - begin + b]) {
          shared = address + b;
          return false;
        }
        taken[address - begin + b] = true;
      }
      return true;
    });
    if (alone) continue;
    for (std::size_t j = 0; j < i; ++j) {
      const at::Tensor& other = tensors[extents[j].index];
      const bool elsewhere = over_elements(other, [&](std::uintptr_t address) {
        return shared < address || shared >= address + other.element_size();
      });
      if (!elsewhere) return std::minmax(extents[j].index, extents[i].index);
    }
    return std::pair{extents[i].index, extents[i].index};
  }
  return {};
}

}  // namespace

std::optional<std::pair<std::size_t, std::size_t>> find_overlap(
    std::span<const at::Tensor> tensors) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < tensors.size(); ++i)
    if (has_memory(tensors[i])) extents.push_back(extent_of(tensors[i], i));
  std::ranges::sort(extents, {}, [](const Extent& e) {
    return std::tuple(static_cast<int>(e.device.type()), e.device.index(), e.begin, e.index);
  });
  for (std::size_t first = 0; first < extents.size();) {
    std::uintptr_t end = extents[first].end;
    std::size_t after = first + 1;
    while (after < extents.size() && extents[after].device == extents[first].device &&
           extents[after].begin < end)
      end = std::max(end, extents[after++].end);
    const std::span<const Extent> together(extents.data() + first, after - first);
    if (together.size() > 1 || !nested(tensors[together[0].index]))
      if (const Pair found = overlap_among(tensors, together)) return found;
    first = after;
  }
  return {};
}

}  // namespace steepest
