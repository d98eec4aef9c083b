#include "steepest/train/training_state.h"

#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <fmt/format.h>

#include <set>
#include <utility>
#include <vector>

#include "steepest/base/error.h"
#include "steepest/tensor/bridge.h"

namespace steepest::train {
namespace {

constexpr const char* kWeight = "param";

[[noreturn]] void misfit(const Checkpoint& checkpoint, std::string what) {
  throw CheckpointError(
      Problem{fmt::format("'{}' does not fit this model: {}", checkpoint.folder().string(), what),
              "", "resume with the recipe the run was started with"});
}

void check_weights(const Checkpoint& checkpoint, const ParamSet& params) {
  std::set<std::string> known;
  for (const auto& param : params) {
    known.insert(param.info.name);
    const auto piece = checkpoint.find(param.info.name, kWeight);
    if (!piece) misfit(checkpoint, fmt::format("it has no weight '{}'", param.info.name));
    if (piece->info.shape != param.info.shape || piece->info.dtype != param.info.dtype)
      misfit(checkpoint, fmt::format("weight '{}' is {} {} in it and {} {} here", param.info.name,
                                     name(piece->info.dtype), shape_text(piece->info.shape),
                                     name(param.info.dtype), shape_text(param.info.shape)));
  }
  for (const auto& info : checkpoint.pieces())
    if (info.state == kWeight && !known.contains(info.name))
      misfit(checkpoint, fmt::format("it holds a weight '{}' that the model lacks", info.name));
}

const Json& required(const Json& object, const char* key) {
  if (!object.is_object() || !object.contains(key))
    throw CheckpointError(Problem{fmt::format("the checkpoint's values lack '{}'", key),
                                  "it was not written by the trainer",
                                  "resume from a checkpoint of a run"});
  return object.at(key);
}

}  // namespace

Json Counters::to_json() const {
  Json saved = {{"step", step}, {"tokens", tokens}, {"best_val_step", best_val_step}};
  if (best_val_loss) saved["best_val_loss"] = *best_val_loss;
  if (last_val_loss) saved["last_val_loss"] = *last_val_loss;
  return saved;
}

Counters Counters::from_json(const Json& saved) {
  Counters counters;
  counters.step = required(saved, "step").get<std::int64_t>();
  counters.tokens = required(saved, "tokens").get<std::int64_t>();
  counters.best_val_step = required(saved, "best_val_step").get<std::int64_t>();
  if (saved.contains("best_val_loss"))
    counters.best_val_loss = saved["best_val_loss"].get<double>();
  if (saved.contains("last_val_loss"))
    counters.last_val_loss = saved["last_val_loss"].get<double>();
  return counters;
}

std::filesystem::path save_training(const std::filesystem::path& parent, const TrainingParts& parts,
                                    const Counters& counters, const Json& recipe,
                                    const std::string& data_checksum,
                                    const WriteObserver& observe) {
  OptimizerSnapshot optimizer = parts.optimizer.snapshot();
  CheckpointContent content;
  content.step = counters.step;
  for (const auto& param : parts.model.params()) {
    at::Tensor keep;
    const auto bytes = tensor_bytes(param.value, keep);
    optimizer.keep.push_back(keep);
    content.pieces.push_back(
        {whole_piece(param.info.name, kWeight, param.info.dtype, param.info.shape), bytes});
  }
  for (const auto& piece : optimizer.pieces) content.pieces.push_back(piece);
  content.values["optimizer"] = optimizer.values;
  content.values["trainer"] = counters.to_json();
  content.values["scheduler"] =
      parts.scheduler != nullptr ? parts.scheduler->save() : Json(nullptr);
  content.values["recipe"] = recipe;
  content.values["data"] = {{"checksum", data_checksum}};
  content.values["threads"] = at::get_num_threads();
  return save_checkpoint(parent, content, observe);
}

int saved_threads(const Checkpoint& checkpoint) {
  const auto threads = checkpoint.values().find("threads");
  return threads != checkpoint.values().end() && threads->is_number_integer() ? threads->get<int>()
                                                                              : 0;
}

Counters restore_training(const Checkpoint& checkpoint, const TrainingParts& parts) {
  const Counters counters = Counters::from_json(required(checkpoint.values(), "trainer"));
  const Json& scheduler = required(checkpoint.values(), "scheduler");
  check_weights(checkpoint, parts.model.params());
  if ((parts.scheduler != nullptr) == scheduler.is_null())
    misfit(checkpoint, scheduler.is_null() ? "it has no schedule" : "it has a schedule");
  if (parts.scheduler != nullptr) parts.scheduler->check(scheduler);
  parts.optimizer.restore(checkpoint);  // checks all of its own states before it changes one
  const at::NoGradGuard no_grad;
  for (const auto& param : parts.model.params()) {
    at::Tensor target = param.value.detach();
    const auto piece = checkpoint.find(param.info.name, kWeight);
    copy_bytes_into(target, piece->info.dtype, piece->bytes);
  }
  if (parts.scheduler != nullptr) parts.scheduler->load(scheduler);
  return counters;
}

}  // namespace steepest::train
