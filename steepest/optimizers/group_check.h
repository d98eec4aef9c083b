#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace steepest {

/// "2 of group 0": what a parameter without a name is called in messages.
std::string name_in_group(std::size_t param, std::size_t group);
/// "adamw: group 0": what the options of a group are called in messages.
std::string group_scope(std::string_view rule, std::size_t group);

/// ConfigError: gradients do not gather in this tensor.
void require_leaf(const at::Tensor& param, std::string_view name);

[[noreturn]] void refuse_repeated(std::string_view name);
/// For options that came through libtorch's base class.
[[noreturn]] void refuse_foreign_options(std::string_view rule, std::size_t group);

}  // namespace steepest
