#include "steepest/report/replay.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <set>

#include "steepest/base/error.h"
#include "tests/report/replay_fixture.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

using testing_replay::Recorded;
using testing_replay::sgd_by_hand;

const std::filesystem::path kGolden =
    std::filesystem::path(STEEPEST_SOURCE_DIR) / "tests" / "golden";

std::vector<std::filesystem::path> golden_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kGolden))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// --- every recorded run of the original libraries ---

class Golden : public ::testing::TestWithParam<std::filesystem::path> {};

TEST_P(Golden, IsMatched) {
  const ReplayOutcome outcome = replay_file(GetParam());
  EXPECT_TRUE(outcome.ran) << outcome.why;
  EXPECT_TRUE(outcome.passed) << outcome.why << ": " << outcome.worst.where << " "
                              << outcome.worst.error << " of " << outcome.worst.tolerance;
  EXPECT_GT(outcome.compared, 0);
}

INSTANTIATE_TEST_SUITE_P(, Golden, ::testing::ValuesIn(golden_files()), [](const auto& each) {
  std::string name =
      each.param.parent_path().filename().string() + "_" + each.param.stem().string();
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
});

TEST(GoldenFiles, AreAllThere) {
  const auto count = [](const char* folder) {
    const auto files = golden_files();
    return std::count_if(files.begin(), files.end(),
                         [&](const auto& path) { return path.parent_path().filename() == folder; });
  };
  EXPECT_EQ(count("torch"), 37);
  EXPECT_EQ(count("kj"), 11);
  EXPECT_EQ(count("dion"), 18);
  EXPECT_EQ(count("emerging_optimizers"), 1);
  EXPECT_EQ(count("orthogonalize"), 56);
  EXPECT_EQ(count("flashoptim"), 8);
  EXPECT_EQ(golden_files().size(), 131U);
}

TEST(GoldenFiles, OneShowsADefectThatOursDoesNotHave) {
  const ReplayOutcome outcome =
      replay_file(kGolden / "torch" / "muon-bf16-no-nesterov.safetensors");
  EXPECT_TRUE(outcome.expect_mismatch);
  EXPECT_TRUE(outcome.passed);
  EXPECT_GT(outcome.worst.ratio, 1);
}

// --- a changed option must show ---

struct Broken {
  std::string file;
  std::string option;
  std::function<Json(const Json&)>
      change;           ///< from the value in force (null: default) to a wrong one
  double fallback = 0;  ///< the library's default where the file does not set the option
};

Json plus(const Json& value, double more) { return value.get<double>() + more; }
Json times(const Json& value, double factor) { return value.get<double>() * factor; }

const std::vector<Broken>& broken_options() {
  const auto decay = [](const Json& v) { return plus(v, 0.01); };
  const auto rate = [](const Json& v) { return times(v, 1.03); };
  const auto momentum = [](const Json& v) { return plus(v, -0.01); };
  const auto flip = [](const Json& v) { return Json(!v.get<bool>()); };
  static const std::vector<Broken> kAll = {
      {"torch/muon-exact", "weight_decay", decay, 0.1},
      {"torch/muon-exact", "lr", rate},
      {"torch/muon-exact", "momentum", momentum, 0.95},
      {"torch/muon-exact", "nesterov", [](const Json&) { return Json(false); }},
      {"torch/muon-exact", "ns_steps", [](const Json&) { return Json(6); }},
      {"torch/muon-exact", "adjust_lr_fn", [](const Json&) { return Json("match_rms_adamw"); }},
      {"torch/muon-exact-no-nesterov", "nesterov", flip},
      {"torch/muon-exact-no-nesterov", "adjust_lr_fn",
       [](const Json&) { return Json("original"); }},
      {"kj/muon-exact", "weight_decay", decay},
      {"kj/muon-exact", "lr", rate},
      {"kj/muon-exact", "momentum", momentum, 0.95},
      {"kj/muon-conv-exact", "weight_decay", decay},
      {"kj/muon-conv-exact", "lr", rate},
      {"dion/muon-exact", "weight_decay", decay, 0.01},
      {"dion/muon-exact", "lr", rate},
      {"dion/muon-exact", "mu", momentum, 0.95},
      {"dion/muon-exact", "nesterov", [](const Json&) { return Json(true); }},
      {"dion/muon-exact", "use_polar_express", [](const Json&) { return Json(false); }},
      {"dion/muon-exact", "adjust_lr", [](const Json&) { return Json("rms_norm"); }},
      {"dion/muon-nesterov-exact", "nesterov", flip},
      {"dion/muon-flatten-exact", "flatten", flip},
      {"dion/muon-flatten-exact", "weight_decay", decay},
      {"dion/muon-epsilon-exact", "epsilon", [](const Json& v) { return times(v, 1.1); }},
      {"dion/muon-lr-schedule-exact", "weight_decay", decay},
      {"dion/muon-groups-exact", "betas",
       [](const Json&) {
         return Json({0.9, 0.96});
       }},
      {"torch/adamw-betas", "weight_decay", decay},
      {"torch/adamw-betas", "lr", rate},
      {"torch/adamw-betas", "eps", [](const Json& v) { return times(v, 100); }},
      {"torch/adamw-betas", "betas",
       [](const Json&) {
         return Json({0.9, 0.96});
       }},
      {"torch/adam-l2", "weight_decay", decay},
      {"torch/adam-amsgrad", "amsgrad", flip},
      {"torch/adam-maximize", "maximize", flip},
      {"torch/sgd-nesterov", "nesterov", flip},
      {"torch/sgd-dampening", "dampening", [](const Json& v) { return plus(v, 0.01); }},
      {"torch/sgd-momentum", "momentum", momentum},
      {"torch/sgd-decay", "weight_decay", decay},
      {"emerging_optimizers/lion", "lr", rate},
      {"emerging_optimizers/lion", "weight_decay", decay, 0.01},
      {"emerging_optimizers/lion", "betas",
       [](const Json&) {
         return Json({0.8, 0.99});
       }},
  };
  return kAll;
}

class BrokenOption : public ::testing::TestWithParam<Broken> {};

TEST_P(BrokenOption, MakesTheFileFail) {
  const Broken& broken = GetParam();
  ReplayCase file = read_replay_case(kGolden / (broken.file + ".safetensors"));
  ASSERT_TRUE(replay_case(file).passed);
  const Json before = file.optimizer.contains(broken.option) ? file.optimizer[broken.option]
                                                             : Json(broken.fallback);
  file.optimizer[broken.option] = broken.change(before);
  const ReplayOutcome outcome = replay_case(file);
  EXPECT_TRUE(outcome.ran) << outcome.why;
  EXPECT_FALSE(outcome.passed) << before << " -> " << file.optimizer[broken.option];
}

INSTANTIATE_TEST_SUITE_P(, BrokenOption, ::testing::ValuesIn(broken_options()),
                         [](const auto& each) {
                           std::string name = each.param.file + "_" + each.param.option;
                           std::replace_if(
                               name.begin(), name.end(),
                               [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

TEST(BrokenRun, AMissingGradientThatIsSkippedInsteadOfZeroFails) {
  ReplayCase file = read_replay_case(kGolden / "kj" / "muon-exact.safetensors");
  // Steps 3 and 4 lack a gradient; zeros in their place are the same run, any other gradient is
  // not.
  ASSERT_FALSE(file.tensor("grad/3/square").defined());
  file.tensors["grad/3/square"] = file.tensor("grad/2/square");
  EXPECT_FALSE(replay_case(file).passed);
}

TEST(BrokenRun, AWrongStateOrCounterAtTheEndFails) {
  ReplayCase file = read_replay_case(kGolden / "torch" / "adamw-betas.safetensors");
  file.tensors["state/step/wide"] = file.tensor("state/step/wide").add(1);
  const ReplayOutcome counter = replay_case(file);
  EXPECT_FALSE(counter.passed);
  EXPECT_EQ(counter.worst.where, "state/step/wide");

  file = read_replay_case(kGolden / "torch" / "adamw-betas.safetensors");
  file.tensors["state/exp_avg/wide"] = file.tensor("state/exp_avg/wide").mul(1.001);
  EXPECT_EQ(replay_case(file).worst.where, "state/exp_avg/wide");
  EXPECT_FALSE(replay_case(file).passed);
}

// --- the report ---

class ReplayTest : public testing_replay::ReplayFiles {};

TEST_F(ReplayTest, ARunByHandMatches) {
  const ReplayOutcome outcome = replay_file(write(sgd_by_hand()));
  EXPECT_TRUE(outcome.ran);
  EXPECT_TRUE(outcome.passed) << outcome.worst.error;
  EXPECT_EQ(outcome.compared, 2);
  EXPECT_EQ(outcome.why, "");
}

TEST_F(ReplayTest, ReplayingTwiceGivesTheSame) {
  const ReplayCase file = read_replay_case(write(sgd_by_hand()));
  EXPECT_TRUE(replay_case(file).passed);
  EXPECT_TRUE(replay_case(file).passed);
}

TEST_F(ReplayTest, ADifferenceIsReportedWhereItIsLargest) {
  Recorded run = sgd_by_hand();
  run.tensors["param/1/w"].values[0] = 0.75F;  // ours: 0.95
  const ReplayOutcome outcome = replay_file(write(run));
  EXPECT_TRUE(outcome.ran);
  EXPECT_FALSE(outcome.passed);
  EXPECT_EQ(outcome.worst.where, "param/1/w");
  EXPECT_NEAR(outcome.worst.error, 0.2, 1e-6);
  EXPECT_EQ(outcome.why, "the error is above the tolerance");
}

TEST_F(ReplayTest, AnExpectedMismatchMustMismatch) {
  Recorded run = sgd_by_hand();
  run.description["expect"] = "mismatch";
  const ReplayOutcome same = replay_file(write(run));
  EXPECT_TRUE(same.ran);
  EXPECT_FALSE(same.passed);
  EXPECT_EQ(same.why, "matches a run that shows a defect of the reference");
  run.tensors["param/1/w"].values[0] = 0.75F;
  EXPECT_TRUE(replay_file(write(run)).passed);
}

TEST_F(ReplayTest, StatesStartWhereTheFileSays) {
  // v = 0.9 * 2 + g = 2.3, 0.8; w = 1 - 0.23, 2 - 0.08.
  Recorded run = sgd_by_hand();
  run.tensors["init_state/momentum_buffer/w"] = {{2}, {2, 2}};
  run.tensors["state/momentum_buffer/w"] = {{2}, {2.3F, 0.8F}};
  run.tensors["param/1/w"] = {{2}, {0.77F, 1.92F}};
  const ReplayOutcome outcome = replay_file(write(run));
  EXPECT_TRUE(outcome.passed) << outcome.why << outcome.worst.where << outcome.worst.error;
}

TEST_F(ReplayTest, TheLearningRateOfEachStepIsUsed) {
  Recorded run = sgd_by_hand();
  run.description["lr"] = {0.2};
  run.tensors["param/1/w"] = {{2}, {0.9F, 2.2F}};
  EXPECT_TRUE(replay_file(write(run)).passed);
}

TEST_F(ReplayTest, AFileThatCannotBeRunFails) {
  const auto why = [&](const std::function<void(Recorded&)>& spoil) {
    Recorded run = sgd_by_hand();
    spoil(run);
    const ReplayOutcome outcome = replay_file(write(run));
    EXPECT_FALSE(outcome.ran);
    EXPECT_FALSE(outcome.passed);
    return outcome.why;
  };
  EXPECT_EQ(
      why([](Recorded& run) { run.description["optimizer"]["_target_"] = "torch.optim.LBFGS"; }),
      "torch.optim.LBFGS is no optimizer that replay has a rule for");
  EXPECT_EQ(why([](Recorded& run) { run.tensors["state/exp_avg/w"] = run.tensors["init/w"]; }),
            "tensor state/exp_avg/w is a state that our sgd does not have");
  EXPECT_EQ(why([](Recorded& run) { run.tensors["init_state/exp_avg/w"] = run.tensors["init/w"]; }),
            "tensor init_state/exp_avg/w is a state that our sgd does not have");
  EXPECT_EQ(why([](Recorded& run) { run.tensors["master/1/w"] = run.tensors["init/w"]; }),
            "tensor master/1/w is of a kind that no rule of ours has");
  EXPECT_EQ(why([](Recorded& run) { run.tensors["noise/1/0/w"] = run.tensors["init/w"]; }),
            "tensor noise/1/0/w is of a kind that no rule of ours has");
  EXPECT_NE(why([](Recorded& run) { run.description["optimizer"]["lr"] = -1; }), "");
  EXPECT_NE(
      why([](Recorded& run) { run.description["optimizer"]["_target_"] = "torch.optim.Muon"; }),
      "");
  EXPECT_NE(why([](Recorded& run) { run.tensors["state/momentum_buffer/w"] = {{1}, {1}}; }), "");
  // Expecting a mismatch does not make an unknown optimizer pass.
  why([](Recorded& run) {
    run.description["expect"] = "mismatch";
    run.description["optimizer"]["_target_"] = "torch.optim.LBFGS";
  });
}

TEST_F(ReplayTest, AFunctionNeedsItsTensors) {
  Recorded run;
  run.description =
      Json::parse(R"({"reference": "r", "function": "kj", "tolerance": {"frob": 0.1}})");
  run.tensors["input"] = {{1, 2}, {0, 0}};
  EXPECT_EQ(replay_file(write(run)).why, "tensor output is missing");
  run.tensors["output"] = {{1, 2}, {0, 0}};
  EXPECT_TRUE(replay_file(write(run)).passed);
  run.tensors["start"] = {{1, 2}, {0, 0}};
  EXPECT_EQ(replay_file(write(run)).why, "tensor start is of a kind that no function of ours has");
}

TEST_F(ReplayTest, WalksFoldersInOrderForSafetensorsAlone) {
  write(sgd_by_hand(), "b.safetensors");
  write(sgd_by_hand(), "a/z.safetensors");
  write(std::string("{}"), "a/plan.json");
  write(std::string("broken"), "c.safetensors");
  const ReplayReport report = replay({folder()});
  ASSERT_EQ(report.outcomes.size(), 3U);
  EXPECT_EQ(report.outcomes[0].path, folder() / "a/z.safetensors");
  EXPECT_EQ(report.outcomes[1].path, folder() / "b.safetensors");
  EXPECT_EQ(report.outcomes[2].path, folder() / "c.safetensors");
  EXPECT_EQ(report.run_count(), 2);
  EXPECT_EQ(report.failed_count(), 1);
  EXPECT_FALSE(report.passed());
  EXPECT_TRUE(replay({folder() / "b.safetensors", folder() / "a"}).passed());
}

TEST_F(ReplayTest, NothingToReplayIsAnError) {
  EXPECT_ERROR(IoError, (void)replay({folder() / "missing"}),
               (folder() / "missing").string() + " does not exist");
  EXPECT_ERROR(
      ConfigError, (void)replay({folder()}),
      "there is nothing to replay; no file was given and no folder holds a .safetensors file");
}

TEST(ReplayReportTest, TextHasALineAFileAndTheCounts) {
  ReplayReport report;
  report.outcomes.push_back(
      {.path = "a.safetensors",
       .ran = true,
       .passed = true,
       .worst = {.where = "param/3/w", .error = 1.25e-7, .tolerance = 1e-5, .ratio = 0.0125}});
  report.outcomes.push_back({.path = "longer.safetensors",
                             .ran = true,
                             .passed = false,
                             .worst = {.where = "output",
                                       .measure = ReplayDifference::Measure::kFrobenius,
                                       .error = 0.5,
                                       .tolerance = 0.25,
                                       .ratio = 2},
                             .why = "the error is above the tolerance"});
  report.outcomes.push_back({.path = "c.safetensors", .why = "no rule\nno file"});
  report.outcomes.push_back(
      {.path = "d.safetensors",
       .ran = true,
       .expect_mismatch = true,
       .passed = true,
       .worst = {.where = "param/1/w", .error = 0.5, .tolerance = 0.25, .ratio = 2}});
  EXPECT_EQ(
      report.text(),
      "file                result       error  tolerance  measure    where\n"
      "a.safetensors       ok        1.25e-07   1.00e-05  absolute   param/3/w\n"
      "longer.safetensors  FAILED    5.00e-01   2.50e-01  frobenius  output\n"
      "c.safetensors       NOT RUN  no rule; no file\n"
      "d.safetensors       ok        5.00e-01   2.50e-01  absolute   param/1/w  (must not match)\n"
      "4 files: 3 run, 2 failed\n");
}

TEST(ReplayReportTest, Json) {
  ReplayReport report;
  report.outcomes.push_back(
      {.path = "a",
       .ran = true,
       .passed = true,
       .worst = {.where = "param/3/w", .error = 0.5, .tolerance = 1, .ratio = 0.5},
       .compared = 3});
  report.outcomes.push_back({.path = "c", .expect_mismatch = true, .why = "no rule"});
  EXPECT_EQ(
      report.json().dump(),
      R"({"files":[{"path":"a","ran":true,"passed":true,"error":0.5,"tolerance":1.0,"measure":"absolute",)"
      R"("where":"param/3/w","compared":3},{"path":"c","ran":false,"passed":false,"expect":"mismatch",)"
      R"("why":"no rule"}],"count":2,"run":1,"failed":1})");
}

}  // namespace
}  // namespace steepest
