#include <ATen/core/grad_mode.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "steepest/base/error.h"
#include "steepest/build/optimizer.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;

struct Folder {
  fs::path path = fs::temp_directory_path() / ("steepest-state-" + std::to_string(::getpid()));
  Folder() { fs::remove_all(path); }
  ~Folder() { fs::remove_all(path); }
};

ParamSet params_of(const std::vector<std::string>& order, double value) {
  ParamSet params;
  for (const std::string& name : order)
    params.add(name, at::full({4, 4}, value, at::kFloat).set_requires_grad(true), "linear");
  return params;
}

void set_grads(const ParamSet& params, int step) {
  for (const Param& each : params) {
    at::Tensor tensor = each.value;
    at::Tensor grad = at::full({4, 4}, 0.1 * step, at::kFloat);
    grad[0][0] = each.info.name == "a" ? 1.0 : -2.0;
    grad[1][2] = 0.3 * step;
    tensor.mutable_grad() = grad;
  }
}

const std::vector<OptimizerConfig> kConfigs{
    AdamWConfig{.lr = 0.1, .amsgrad = true}, AdamConfig{.lr = 0.1},
    RuleConfig{.matrices = SGDOptions{.lr = 0.1, .momentum = 0.9}, .rest = SGDOptions{}},
    RuleConfig{.matrices = LionOptions{.lr = 0.1}, .rest = LionOptions{}}, MuonConfig{.lr = 0.1}};

// Saved, loaded into parameters registered in another order, gone on: the bits of a run never
// interrupted.
TEST(OptimizerState, ResumesBitForBitWhateverTheOrder) {
  for (const OptimizerConfig& config : kConfigs) {
    Folder folder;
    const ParamSet params = params_of({"a", "b"}, 1);
    const auto optimizer = build_optimizer(config, params);
    for (int i = 1; i <= 3; ++i) {
      set_grads(params, i);
      optimizer->step();
    }
    const fs::path saved = optimizer->save(folder.path);

    const ParamSet other = params_of({"b", "a"}, 0);
    for (const Param& each : other) {
      const at::NoGradGuard no_grad;
      at::Tensor(each.value).copy_(params.find(each.info.name)->value);
    }
    const auto resumed = build_optimizer(config, other);
    resumed->load(saved);
    EXPECT_EQ(resumed->applied(), 3);
    for (int i = 4; i <= 6; ++i) {
      set_grads(params, i);
      set_grads(other, i);
      optimizer->step();
      resumed->step();
    }
    for (const Param& each : other)
      EXPECT_TRUE(each.value.equal(params.find(each.info.name)->value)) << each.info.name;
  }
}

TEST(OptimizerState, OptionsComeBack) {
  Folder folder;
  const auto saved = build_optimizer(
      AdamWConfig{.lr = 0.37, .weight_decay = 0.2, .betas = {0.8, 0.9}, .eps = 1e-6},
      params_of({"a"}, 1));
  Group* handle = saved->groups()[0];
  handle->schedule_lr(0.1);
  const fs::path path = saved->save(folder.path);
  const auto fresh = build_optimizer(AdamWConfig{}, params_of({"a"}, 1));
  Group* kept = fresh->groups()[0];
  fresh->load(path);
  EXPECT_EQ(kept, fresh->groups()[0]);  // handles outlive loading
  EXPECT_EQ(kept->options(), handle->options());
  EXPECT_EQ(kept->base_lr(), 0.37);
}

// Order of the two loads does not matter, nor does building the scheduler after the optimizer was
// loaded.
TEST(OptimizerState, OptimizerAndSchedulerLoadInAnyOrder) {
  Folder folder;
  const Schedule shape{.style = DecayStyle::kLinear, .max_lr = 1, .decay_steps = 100};
  const auto saved = build_optimizer(AdamWConfig{.lr = 0.5}, params_of({"a"}, 1));
  LRScheduler scheduler(*saved, shape);
  scheduler.step(63);
  const fs::path path = saved->save(folder.path);
  for (const bool optimizer_first : {true, false}) {
    const auto fresh = build_optimizer(AdamWConfig{.lr = 0.1}, params_of({"a"}, 1));
    if (optimizer_first) fresh->load(path);
    LRScheduler again(*fresh, shape);
    again.load(scheduler.save());
    if (!optimizer_first) fresh->load(path);
    EXPECT_NEAR(fresh->groups()[0]->lr(), 0.37 * 0.5, 1e-12);
  }
}

TEST(OptimizerState, ASnapshotIsNotTheOptimizersAfterLoading) {
  Folder folder;
  const ParamSet first = params_of({"a"}, 1), second = params_of({"a"}, 1);
  const auto a = build_optimizer(AdamWConfig{}, first), b = build_optimizer(AdamWConfig{}, second);
  set_grads(first, 1);
  a->step();
  b->load(a->save(folder.path));
  const at::Tensor before = b->state()[1].tensor.clone();
  set_grads(first, 2);
  a->step();
  EXPECT_TRUE(b->state()[1].tensor.equal(before));
  EXPECT_NE(a->state()[1].tensor.data_ptr(), b->state()[1].tensor.data_ptr());
}

TEST(OptimizerState, RefusesOtherModelsByNameAndChangesNothing) {
  Folder folder;
  const ParamSet params = params_of({"a", "b"}, 1);
  const auto saved = build_optimizer(AdamWConfig{}, params);
  set_grads(params, 1);
  saved->step();
  const fs::path path = saved->save(folder.path);
  const auto renamed = build_optimizer(AdamWConfig{.lr = 0.3}, params_of({"a", "c"}, 1));
  EXPECT_ERROR(
      StateError, renamed->load(path),
      path.string() +
          ": the parameters differ: not in the checkpoint: c; only there: b; state is matched by "
          "parameter name; load into the model it was saved from");
  EXPECT_EQ(renamed->groups()[0]->lr(), 0.3);
  ParamSet wide;
  wide.add("a", at::full({5, 4}, 1.0).set_requires_grad(true));
  wide.add("b", at::full({4, 4}, 1.0).set_requires_grad(true));
  const auto reshaped = build_optimizer(AdamWConfig{.lr = 0.3}, wide);
  EXPECT_ERROR(StateError, reshaped->load(path),
               "state exp_avg of a has shape [4, 4], here it is [5, 4]; a state must have the "
               "shape of its parameter; load into the model it was saved from");
  EXPECT_EQ(reshaped->groups()[0]->lr(), 0.3);
  EXPECT_TRUE(reshaped->state().empty());
  const auto other_rule = build_optimizer(MuonConfig{}, params_of({"a", "b"}, 1));
  EXPECT_ERROR(
      StateError, other_rule->load(path),
      path.string() +
          ": the groups differ: not in the checkpoint: "
          "matrices; only there: all; build the optimizer with the config it was saved with");
  EXPECT_ERROR(Error, saved->load(folder.path / "nowhere"),
               "there is no checkpoint " + (folder.path / "nowhere").string() +
                   "; give a folder step-N "
                   "that a run or Optimizer::save wrote");
}

TEST(OptimizerState, SaysWhenNamesWereMadeUp) {
  const auto optimizer = build_optimizer(
      AdamWConfig{},
      ParamSet::from(std::vector<at::Tensor>{at::full({2}, 1.0).set_requires_grad(true)}));
  EXPECT_EQ(optimizer->snapshot().values["names"], "made up by position");
  EXPECT_EQ(optimizer->groups()[0]->params()[0], "param.0");
}

}  // namespace
}  // namespace steepest
