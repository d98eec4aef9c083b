#include "steepest/optimizers/archive.h"

#include <ATen/core/ivalue.h>
#include <fmt/format.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include "steepest/base/error.h"

namespace steepest {
namespace {

constexpr std::int64_t kFormat = 1;

at::IValue value_of(torch::serialize::InputArchive& archive, const std::string& key) {
  at::IValue value;
  if (!archive.try_read(key, value))
    throw StateError({.what = fmt::format("the archive has no '{}'", key),
                      .why = "it was not written by this optimizer, or was cut",
                      .remedy = "load what torch::save wrote for the same optimizer"});
  return value;
}

void require_kind(bool is, const std::string& key) {
  if (!is) throw StateError({.what = fmt::format("'{}' in the archive has another type", key)});
}

std::int64_t integer(torch::serialize::InputArchive& archive, const std::string& key) {
  const at::IValue value = value_of(archive, key);
  require_kind(value.isInt(), key);
  return value.toInt();
}

std::string text(torch::serialize::InputArchive& archive, const std::string& key) {
  const at::IValue value = value_of(archive, key);
  require_kind(value.isString(), key);
  return value.toStringRef();
}

}  // namespace

void write_archive(torch::serialize::OutputArchive& archive, const std::string& rule,
                   const std::vector<ArchivedGroup>& groups) {
  archive.write("steepest_format", at::IValue(kFormat));
  archive.write("rule", at::IValue(rule));
  archive.write("groups", at::IValue(static_cast<std::int64_t>(groups.size())));
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const std::string group = fmt::format("group.{}", g);
    archive.write(group + ".options", at::IValue(groups[g].options));
    archive.write(group + ".params",
                  at::IValue(static_cast<std::int64_t>(groups[g].states.size())));
    for (std::size_t p = 0; p < groups[g].states.size(); ++p) {
      const ArchivedState& state = groups[g].states[p];
      if (!state.present) continue;
      const std::string param = fmt::format("{}.param.{}", group, p);
      archive.write(param + ".step", at::IValue(state.step));
      std::string keys;
      for (const auto& [key, tensor] : state.tensors) {
        keys += (keys.empty() ? "" : ",") + key;
        archive.write(param + "." + key, tensor);
      }
      archive.write(param + ".states", at::IValue(keys));
    }
  }
}

std::vector<ArchivedGroup> read_archive(torch::serialize::InputArchive& archive,
                                        const std::string& rule,
                                        const std::vector<std::size_t>& sizes) {
  if (integer(archive, "steepest_format") != kFormat)
    throw StateError(
        {.what = fmt::format("the archive has format {}", integer(archive, "steepest_format")),
         .why = fmt::format("this version reads format {}", kFormat)});
  if (text(archive, "rule") != rule)
    throw StateError({.what = fmt::format("the archive holds the rule '{}', this optimizer is '{}'",
                                          text(archive, "rule"), rule),
                      .why = "a rule's state means nothing to another rule"});
  if (integer(archive, "groups") != static_cast<std::int64_t>(sizes.size()))
    throw StateError({.what = fmt::format("the archive holds {} groups, this optimizer has {}",
                                          integer(archive, "groups"), sizes.size()),
                      .remedy = "build the optimizer as it was when saved"});
  std::vector<ArchivedGroup> groups;
  for (std::size_t g = 0; g < sizes.size(); ++g) {
    const std::string group = fmt::format("group.{}", g);
    ArchivedGroup read;
    read.options = text(archive, group + ".options");
    if (integer(archive, group + ".params") != static_cast<std::int64_t>(sizes[g]))
      throw StateError(
          {.what = fmt::format("group {} of the archive holds {} parameters, here it has {}", g,
                               integer(archive, group + ".params"), sizes[g]),
           .remedy = "build the optimizer as it was when saved"});
    for (std::size_t p = 0; p < sizes[g]; ++p) {
      const std::string param = fmt::format("{}.param.{}", group, p);
      ArchivedState state;
      at::IValue step;
      if (archive.try_read(param + ".step", step)) {
        require_kind(step.isInt(), param + ".step");
        state.present = true;
        state.step = step.toInt();
        std::string keys = text(archive, param + ".states");
        while (!keys.empty()) {
          const auto comma = keys.find(',');
          const std::string key = keys.substr(0, comma);
          keys = comma == std::string::npos ? "" : keys.substr(comma + 1);
          at::Tensor tensor;
          if (!archive.try_read(param + "." + key, tensor))
            throw StateError({.what = fmt::format("the archive has no '{}.{}'", param, key)});
          state.tensors.emplace_back(key, tensor);
        }
      }
      read.states.push_back(std::move(state));
    }
    groups.push_back(std::move(read));
  }
  return groups;
}

void write_options(torch::serialize::OutputArchive& archive, const std::string& options) {
  archive.write("options", at::IValue(options));
}
std::string read_options(torch::serialize::InputArchive& archive) {
  return text(archive, "options");
}

}  // namespace steepest
