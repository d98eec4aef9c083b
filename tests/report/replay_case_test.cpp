#include "steepest/report/replay_case.h"

#include <gtest/gtest.h>

#include <functional>

#include "steepest/base/error.h"
#include "tests/report/replay_fixture.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

using testing_replay::Recorded;
using testing_replay::sgd_by_hand;

class ReplayCaseTest : public testing_replay::ReplayFiles {
 protected:
  /// The whole text of the error that reading gives, with the path cut to FILE.
  std::string refusal(const std::function<void(Recorded&)>& spoil) {
    Recorded run = sgd_by_hand();
    spoil(run);
    const auto path = write(run);
    try {
      (void)read_replay_case(path);
    } catch (const ConfigError& error) {
      std::string text = error.what();
      for (auto at = text.find(path.string()); at != std::string::npos;
           at = text.find(path.string()))
        text.replace(at, path.string().size(), "FILE");
      return text;
    }
    return "accepted";
  }
  std::string refusal_of(const std::string& pointer, const Json& value) {
    return refusal([&](Recorded& run) { run.description[Json::json_pointer(pointer)] = value; });
  }
};

TEST_F(ReplayCaseTest, ReadsEverything) {
  Recorded run = sgd_by_hand();
  Json& d = run.description;
  d["groups"] = Json::parse(R"([{"params": ["w"], "lr": 0.5}])");
  d["lr"] = {0.25};
  d["rounding"] = "R1";
  d["expect"] = "mismatch";
  d["orthogonalization"] = {{"dtype", "float64"}, {"input", "bfloat16"}};
  d["tolerance"]["frob"] = 0.125;
  d["tolerance"]["state"] = {{"momentum_buffer", {{"frob", 0.5}}}};
  d["tolerance"]["master"] = 1e-3;
  d["tolerance"]["codes"] = 1;
  d["state_compare"] = {{"a", "columns up to sign"},
                        {"b", "absolute values"},
                        {"c", "codes within 1"},
                        {"d", "rtol 2e-3"},
                        {"e", "skip"}};
  d["torch_seed"] = 3;
  d["float64_deviation"] = {{"param", 0.1}};
  const ReplayCase file = read_replay_case(write(run));

  EXPECT_EQ(file.reference, "torch 2.13.0");
  EXPECT_EQ(file.optimizer["lr"], 0.1);
  ASSERT_EQ(file.params.size(), 1U);
  EXPECT_EQ(file.params[0].name, "w");
  EXPECT_EQ(file.params[0].shape, (std::vector<std::int64_t>{2}));
  EXPECT_EQ(file.params[0].dtype, Dtype::kFloat32);
  ASSERT_EQ(file.groups.size(), 1U);
  EXPECT_EQ(file.groups[0].params, (std::vector<std::string>{"w"}));
  EXPECT_EQ(file.groups[0].options.dump(), R"({"lr":0.5})");
  EXPECT_EQ(file.steps, 1);
  EXPECT_EQ(file.lr, (std::vector<double>{0.25}));
  EXPECT_EQ(file.rounding, Rounding::kR1);
  EXPECT_TRUE(file.expect_mismatch);
  EXPECT_EQ(file.float64_input, Dtype::kBFloat16);
  EXPECT_EQ(file.tolerance.rtol, 1e-6);
  EXPECT_EQ(file.tolerance.atol, 1e-7);
  EXPECT_EQ(file.tolerance.frob, 0.125);
  EXPECT_EQ(file.state_tolerance.at("momentum_buffer").frob, 0.5);
  EXPECT_EQ(file.state_tolerance.at("momentum_buffer").rtol, 0);
  EXPECT_EQ(file.codes_tolerance, 1);
  using Kind = StateComparison::Kind;
  EXPECT_EQ(file.state_compare.at("a").kind, Kind::kColumnsUpToSign);
  EXPECT_EQ(file.state_compare.at("b").kind, Kind::kAbsolute);
  EXPECT_EQ(file.state_compare.at("c").kind, Kind::kCodes);
  EXPECT_EQ(file.state_compare.at("c").number, 1);
  EXPECT_EQ(file.state_compare.at("d").kind, Kind::kRelative);
  EXPECT_EQ(file.state_compare.at("d").number, 2e-3);
  EXPECT_EQ(file.state_compare.at("e").kind, Kind::kSkip);
  EXPECT_EQ(file.tensor("grad/1/w")[1].item<double>(), -1);
  EXPECT_FALSE(file.tensor("grad/2/w").defined());
}

TEST_F(ReplayCaseTest, ParametersComeInTheOrderOfTheReference) {
  Recorded run = sgd_by_hand();
  run.description["params"] = Json::parse(R"({"w": {"shape": [2], "dtype": "float32"},
                                              "a/b": {"shape": [2], "dtype": "float32"}})");
  run.description["order"] = {"a/b", "w"};
  run.tensors["init/a/b"] = run.tensors["param/1/a/b"] = run.tensors["init/w"];
  const ReplayCase file = read_replay_case(write(run));
  ASSERT_EQ(file.params.size(), 2U);
  EXPECT_EQ(file.params[0].name, "a/b");
  EXPECT_EQ(file.params[1].name, "w");
}

TEST_F(ReplayCaseTest, AMissingGradientIsAllowed) {
  Recorded run = sgd_by_hand();
  run.tensors.erase("grad/1/w");
  EXPECT_FALSE(read_replay_case(write(run)).tensor("grad/1/w").defined());
}

TEST_F(ReplayCaseTest, AFunctionNeedsNoParameters) {
  Recorded run;
  run.description = Json::parse(
      R"({"reference": "r", "function": "kj", "options": {"steps": 5}, "dtype": "float32",
                                    "tolerance": {"frob": 0.1}})");
  run.tensors["input"] = {{1, 2}, {3, 4}};
  const ReplayCase file = read_replay_case(write(run));
  EXPECT_EQ(file.function, "kj");
  EXPECT_EQ(file.function_options["steps"], 5);
  EXPECT_TRUE(file.optimizer.is_null());
}

TEST_F(ReplayCaseTest, RefusesWhatIsNoSuchFile) {
  EXPECT_THROW((void)read_replay_case(folder() / "missing"), Error);
  EXPECT_THROW((void)read_replay_case(write(std::string("not a safetensors file"))),
               CheckpointError);
  EXPECT_THROW((void)read_replay_case(write(std::string())), CheckpointError);
  const std::string whole = sgd_by_hand().bytes();
  for (std::size_t length = 0; length < whole.size(); length += 7)
    EXPECT_THROW((void)read_replay_case(write(whole.substr(0, length))), CheckpointError) << length;

  const auto without = write(safetensors_bytes({}, {{"other", "x"}}), "without");
  EXPECT_ERROR(
      ConfigError, (void)read_replay_case(without),
      without.string() +
          " has no key 'case' in its metadata; it describes the run that was recorded; give "
          "files that were recorded for replay");
  const auto no_json = write(safetensors_bytes({}, {{"case", "{oops"}}), "no_json");
  EXPECT_ERROR(ConfigError, (void)read_replay_case(no_json),
               no_json.string() + ": 'case' of its metadata is not JSON");
  for (const char* text : {"[]", "3", "null", "\"case\""})
    EXPECT_THROW((void)read_replay_case(write(safetensors_bytes({}, {{"case", text}}))),
                 ConfigError)
        << text;
}

TEST_F(ReplayCaseTest, NamesWhatIsMissingFromTheDescription) {
  for (const char* key : {"reference", "optimizer", "params", "steps", "order", "tolerance"}) {
    const std::string text = refusal([&](Recorded& run) { run.description.erase(key); });
    EXPECT_NE(text.find(std::string("FILE: case.") + key + " is missing"), std::string::npos)
        << text;
  }
  EXPECT_EQ(refusal([](Recorded& run) { run.description["optimizer"].erase("_target_"); }),
            "FILE: case.optimizer._target_ is missing");
  EXPECT_EQ(refusal([](Recorded& run) {
              run.description["orthogonalization"] = {{"dtype", "float64"}};
            }),
            "FILE: case.orthogonalization.input is missing");
}

TEST_F(ReplayCaseTest, NamesWhatIsWrongInTheDescription) {
  const std::pair<const char*, Json> wrong[] = {
      {"/reference", 3},
      {"/optimizer", "torch.optim.SGD"},
      {"/optimizer/_target_", 7},
      {"/params", Json::array()},
      {"/params/w", 1},
      {"/params/w/shape", "2"},
      {"/params/w/shape", Json::array({-1})},
      {"/params/w/shape", Json::array({1.5})},
      {"/params/w/dtype", "float31"},
      {"/params/w/dtype", "int8"},
      {"/steps", 0},
      {"/steps", "many"},
      {"/order", "w"},
      {"/order", Json::array({"w", "w"})},
      {"/order", Json::array({"v"})},
      {"/order", Json::array()},
      {"/groups", Json::array()},
      {"/groups", Json::object()},
      {"/groups", Json::parse(R"([{"lr": 1}])")},
      {"/groups", Json::parse(R"([{"params": ["w"]}, {"params": ["w"]}])")},
      {"/groups", Json::parse(R"([3])")},
      {"/lr", Json::array({0.1, 0.2})},
      {"/lr", 0.1},
      {"/tolerance", 1e-5},
      {"/tolerance/rtol", -1},
      {"/tolerance/frob", "small"},
      {"/tolerance/codes", -1},
      {"/tolerance/state", 1},
      {"/tolerance/state", Json::parse(R"({"m": {"rtol": -1}})")},
      {"/rounding", "R7"},
      {"/expect", "match"},
      {"/orthogonalization", "float64"},
      {"/orthogonalization", Json::parse(R"({"dtype": "float32", "input": "float32"})")},
      {"/state_compare", Json::parse(R"({"m": "roughly"})")},
      {"/state_compare", Json::parse(R"({"m": "codes within x"})")},
  };
  for (const auto& [pointer, value] : wrong) {
    const std::string text = refusal_of(pointer, value);
    std::string first = std::string(pointer).substr(1);
    first = first.substr(0, first.find('/'));
    EXPECT_NE(text.find("FILE: case." + first), std::string::npos)
        << pointer << " = " << value << ": " << text;
  }
  EXPECT_EQ(refusal_of("/steps", 0), "FILE: case.steps is 0; it must be at least 1");
  EXPECT_EQ(refusal_of("/steps", 2000000000),
            "FILE: case.steps is 2000000000, but the file holds 4 tensors");
  EXPECT_EQ(refusal_of("/lr", Json::array({0.1, 0.2})),
            "FILE: case.lr is [0.1, 0.2]; it must be one number for each of the 1 steps");
  EXPECT_EQ(refusal_of("/order", Json::array({"w", "w"})),
            "FILE: case.order lists w 2 times; every parameter must be there once");
}

TEST_F(ReplayCaseTest, WhatIsNotUnderstoodIsRefused) {
  EXPECT_NE(refusal_of("/orthogonalisation", Json::object()).find("orthogonalization"),
            std::string::npos);
  EXPECT_NE(refusal_of("/tolerance/ftol", 1).find("case.tolerance"), std::string::npos);
  EXPECT_NE(refusal_of("/params/w/stride", 1).find("case.params.w"), std::string::npos);
}

TEST_F(ReplayCaseTest, TensorsMustFitTheDescription) {
  const auto with = [&](const std::string& name, testing_replay::Floats floats) {
    return refusal([&](Recorded& run) { run.tensors[name] = floats; });
  };
  const auto missing = [&](const std::string& name) {
    return refusal([&](Recorded& run) { run.tensors.erase(name); });
  };
  EXPECT_EQ(missing("init/w"), "FILE: tensor init/w is missing");
  EXPECT_EQ(missing("param/1/w"), "FILE: tensor param/1/w is missing");
  EXPECT_EQ(with("init/w", {{1, 2}, {1, 2}}),
            "FILE: tensor init/w has shape [1, 2], its parameter [2]");
  EXPECT_EQ(with("grad/1/w", {{3}, {1, 2, 3}}),
            "FILE: tensor grad/1/w has shape [3], its parameter [2]");
  EXPECT_EQ(with("grad/2/w", {{2}, {1, 2}}), "FILE: tensor grad/2/w is of no step between 1 and 1");
  EXPECT_EQ(with("grad/0/w", {{2}, {1, 2}}), "FILE: tensor grad/0/w is of no step between 1 and 1");
  EXPECT_EQ(with("param/x/w", {{2}, {1, 2}}),
            "FILE: tensor param/x/w is of no step between 1 and 1");
  EXPECT_EQ(with("grad/1/v", {{2}, {1, 2}}),
            "FILE: tensor grad/1/v belongs to no parameter of the file");
  EXPECT_EQ(with("state/m", {{2}, {1, 2}}),
            "FILE: tensor state/m belongs to no parameter of the file");
  EXPECT_EQ(with("gradient/1/w", {{2}, {1, 2}}), "FILE: tensor gradient/1/w is of no known kind");
  EXPECT_EQ(with("", {{2}, {1, 2}}), "FILE: tensor  is of no known kind");
  EXPECT_EQ(refusal_of("/params/w/dtype", "bfloat16"),
            "FILE: tensor init/w is float32, its parameter bfloat16");
}

}  // namespace
}  // namespace steepest
