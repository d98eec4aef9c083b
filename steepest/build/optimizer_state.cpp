// Optimizer: what it writes into checkpoints and takes back.
#include <ATen/ops/scalar_tensor.h>
#include <fmt/format.h>

#include <map>
#include <set>

#include "steepest/build/optimizer.h"
#include "steepest/tensor/bridge.h"

namespace steepest {
namespace {

constexpr int kFormat = 1;

std::string joined(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

OptimizerSnapshot Optimizer::snapshot() const {
  OptimizerSnapshot shot;
  for (const NamedState& each : state()) {
    const at::Tensor value = each.tensor.defined()
                                 ? each.tensor
                                 : at::scalar_tensor(each.step, at::TensorOptions(at::kLong));
    shot.keep.emplace_back();
    const auto bytes = tensor_bytes(value, shot.keep.back());
    shot.pieces.push_back(
        {whole_piece(each.param, each.key, to_dtype(value.scalar_type()), shape_of(value)), bytes});
  }
  Json groups = Json::array();
  for (const auto& member : driver_.members())
    for (const Group* each : member->groups()) groups.push_back(each->save());
  shot.values = Json{{"format", kFormat},
                     {"names", params_.anonymous() ? "made up by position" : "given"},
                     {"applied", applied()},
                     {"skipped", skipped()},
                     {"groups", groups}};
  if (const Json scale = driver_.scaler().save(); !scale.empty()) shot.values["loss_scale"] = scale;
  return shot;
}

void Optimizer::restore(const Checkpoint& checkpoint) {
  const std::string what = checkpoint.folder().string();
  const auto found = checkpoint.values().find("optimizer");
  if (found == checkpoint.values().end() || !found->is_object() || !found->contains("groups") ||
      !(*found)["groups"].is_array())
    throw CheckpointError(
        {.what = fmt::format("{} holds no optimizer", what),
         .remedy = "give a folder that Optimizer::save or `steepest train` wrote"});
  const Json& saved = *found;
  const Json format = saved.value("format", Json());
  if (!format.is_number_integer() || format != kFormat)
    throw CheckpointError(
        {.what = fmt::format("{} holds an optimizer of format {}", what, format.dump()),
         .why = fmt::format("this version reads format {}", kFormat),
         .remedy = "read it with the version that wrote it"});

  // Names of groups and parameters must be the same on both sides; order is irrelevant.
  std::map<std::string, const Json*> by_name;
  std::set<std::string> saved_params, own_params, missing, unknown;
  for (const Json& group : saved["groups"]) {
    if (!group.is_object() || !group.contains("name") || !group["name"].is_string()) continue;
    by_name[group["name"].get<std::string>()] = &group;
    if (group.contains("params") && group["params"].is_array())
      for (const Json& param : group["params"])
        if (param.is_string()) saved_params.insert(param.get<std::string>());
  }
  const auto own = groups();
  for (Group* each : own) {
    own_params.insert(each->params().begin(), each->params().end());
    if (!by_name.contains(each->name())) missing.insert(each->name());
  }
  if (!missing.empty() || by_name.size() != own.size()) {
    for (Group* each : own) by_name.erase(each->name());
    for (const auto& [name, group] : by_name) unknown.insert(name);
    throw StateError(
        {.what = fmt::format("{}: the groups differ: not in the checkpoint: {}; only there: {}",
                             what, missing.empty() ? "none" : joined(missing),
                             unknown.empty() ? "none" : joined(unknown)),
         .remedy = "build the optimizer with the config it was saved with"});
  }
  for (const std::string& name : own_params)
    if (!saved_params.contains(name)) missing.insert(name);
  for (const std::string& name : saved_params)
    if (!own_params.contains(name)) unknown.insert(name);
  if (!missing.empty() || !unknown.empty())
    throw StateError(
        {.what = fmt::format("{}: the parameters differ: not in the checkpoint: {}; only there: {}",
                             what, missing.empty() ? "none" : joined(missing),
                             unknown.empty() ? "none" : joined(unknown)),
         .why = "state is matched by parameter name",
         .remedy = "load into the model it was saved from"});

  const StateSource source = [&](std::string_view param, std::string_view key) -> at::Tensor {
    const auto piece = checkpoint.find(param, key);
    if (!piece) return {};
    return tensor_from_bytes(piece->info.dtype, piece->info.shape, piece->bytes);
  };
  for (Group* each : own) Group(*each).load(*by_name.at(each->name()), what);
  if (!saved.contains("applied") || !saved["applied"].is_number_integer() ||
      !saved.contains("skipped") || !saved["skipped"].is_number_integer())
    throw CheckpointError({.what = fmt::format("{} holds no step counters", what)});

  const Json scale = saved.value("loss_scale", Json::object());
  LossScaler(driver_.scaler()).load(scale, what + ": loss_scale");

  // States are made under the options they were saved with; if one does not fit, these go back.
  std::vector<Group> before;
  for (Group* each : own) before.push_back(*each);
  try {
    for (Group* each : own) each->load(*by_name.at(each->name()), what);
    for (const auto& member : driver_.members()) member->check_state(source);
  } catch (...) {
    for (std::size_t i = 0; i < own.size(); ++i) *own[i] = before[i];
    throw;
  }

  // Everything was checked; from here nothing throws but for want of memory.
  for (const auto& member : driver_.members()) member->load_state(source);
  driver_.scaler().load(scale, what + ": loss_scale");
  driver_.restore_counters(saved["applied"].get<std::int64_t>(),
                           saved["skipped"].get<std::int64_t>());
}

std::filesystem::path Optimizer::save(const std::filesystem::path& folder) const {
  const OptimizerSnapshot shot = snapshot();
  return save_checkpoint(
      folder,
      {.step = applied(), .pieces = shot.pieces, .values = Json{{"optimizer", shot.values}}});
}

void Optimizer::load(const std::filesystem::path& folder) { restore(Checkpoint::open(folder)); }

}  // namespace steepest
