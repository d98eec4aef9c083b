#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace torch::optim {
class OptimizerParamGroup;
}

namespace steepest {

/// "2 of group 0": what a parameter without a name is called in messages.
std::string name_in_group(std::size_t param, std::size_t group);
/// "adamw: group 0": what the options of a group are called in messages.
std::string group_scope(std::string_view rule, std::size_t group);

/// ConfigError: gradients do not gather in this tensor.
void require_leaf(const at::Tensor& param, std::string_view name);

/// LayoutError: an element of the parameters lies in the memory of another one, of any group. Parts
/// of one storage that do not overlap are fine.
void require_apart(const std::vector<std::vector<at::Tensor>>& groups);

[[noreturn]] void refuse_repeated(std::string_view name);
/// For options that came through libtorch's base class.
[[noreturn]] void refuse_foreign_options(std::string_view rule, std::size_t group);
/// For what was written into libtorch's state map. StateError.
[[noreturn]] void refuse_foreign_state(std::string_view rule, std::string_view name);
/// For a parameter with state whose place another tensor has taken. StateError.
[[noreturn]] void refuse_replaced(std::string_view name);

/// The parameters of an optimizer's groups as they were when they were last checked. It holds the
/// tensors, so that none of their addresses, by which libtorch keeps states, becomes another's.
class KnownGroups {
 public:
  using Groups = std::vector<torch::optim::OptimizerParamGroup>;

  void note(const Groups& groups);
  /// False: groups or parameters came or went, or a parameter has other memory, or another shape,
  /// element type or device, as after set_data or Module::to.
  bool hold(const Groups& groups) const;
  /// A tensor that was known and is in no group any more.
  struct Gone {
    at::Tensor param;
    std::size_t index, group;
    bool taken;  ///< a tensor that was not known stands in its place
  };
  std::vector<Gone> gone(const Groups& groups) const;

 private:
  struct Known {
    at::Tensor param;
    const void* memory;
    std::vector<std::int64_t> sizes, strides;
    at::ScalarType type;
    at::Device device;
  };
  std::vector<std::vector<Known>> groups_;
};

}  // namespace steepest
