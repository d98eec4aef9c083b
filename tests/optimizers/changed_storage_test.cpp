// Storage that is changed under a state is refused before anything is touched.
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

#include "steepest/base/error.h"
#include "steepest/optimizers/rules.h"
#include "steepest/step/step_driver.h"
#include "tests/support/errors.h"
#include "tests/support/rule_cases.h"

namespace steepest {
namespace {

constexpr const char* kState =
    "a state of parameter 0 of group 0 was made for another storage, shape or device; states and "
    "masters "
    "cannot be changed, nor a parameter resized or moved, once steps were made; set them before "
    "the first "
    "step, or build the optimizer anew and load";
constexpr const char* kMaster =
    "the master of parameter 0 of group 0 was made for another storage, shape or device; states "
    "and "
    "masters "
    "cannot be changed, nor a parameter resized or moved, once steps were made; set them before "
    "the first "
    "step, or build the optimizer anew and load";

at::Tensor param(at::ScalarType type = at::kFloat) {
  at::Tensor p = at::full({40}, 1.0, type).set_requires_grad(true);
  p.mutable_grad() = at::full({40}, 0.5, type);
  return p;
}

TEST(ChangedStorage, OfStatesIsRefused) {
  for (const StateFormat from : {StateFormat::kFloat32, StateFormat::kInt8, StateFormat::kFloat8,
                                 StateFormat::kFloat16Scaled})
    for (const StateFormat to : {StateFormat::kInt8, StateFormat::kFloat8, StateFormat::kFloat32,
                                 StateFormat::kFloat16Scaled}) {
      if (from == to) continue;
      const at::Tensor p = param();
      AdamW optimizer({p}, {.lr = 0.1, .states = from});
      optimizer.step();
      const at::Tensor before = p.detach().clone();
      optimizer.options().states = to;
      EXPECT_ERROR(StateError, optimizer.step(), kState);
      EXPECT_TRUE(test::same_bits(before, p.detach()));
      EXPECT_EQ(optimizer.state_of(p)->step, 1);
    }
}

TEST(ChangedStorage, OfMastersIsRefused) {
  for (const MasterFormat to :
       {MasterFormat::kFloat32, MasterFormat::kRemainder, MasterFormat::kNone}) {
    const at::Tensor p = param(at::kBFloat16);
    AdamW optimizer({p},
                    {.lr = 0.1, .states = StateFormat::kFloat32, .masters = MasterFormat::k24Bit});
    optimizer.step();
    optimizer.options().masters = to;
    EXPECT_ERROR(StateError, optimizer.step(), kMaster);
  }
}

TEST(ChangedStorage, AResizedParameterIsRefused) {
  const at::Tensor p = param();
  AdamW optimizer({p}, {.lr = 0.1});
  optimizer.step();
  p.set_data(at::full({80}, 1.0));
  p.mutable_grad() = at::full({80}, 0.5);
  EXPECT_ERROR(StateError, optimizer.step(), kState);
}

TEST(ChangedStorage, LargeFiniteGradientsSaturateCodedStates) {
  for (const StateFormat states : {StateFormat::kInt8, StateFormat::kInt8Linear}) {
    const at::Tensor p = param();
    AdamW optimizer({p}, {.lr = 0.1, .states = states});
    p.mutable_grad().fill_(1e8);
    for (int step = 0; step < 3; ++step) optimizer.step();
    EXPECT_FALSE(p.isnan().any().item<bool>()) << spelling(states);
  }
}

}  // namespace
}  // namespace steepest
