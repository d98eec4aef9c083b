#include "steepest/report/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <string>

#include "steepest/base/error.h"
#include "steepest/checkpoint/checkpoint.h"
#include "tests/support/temporary_folder.h"

namespace steepest {
namespace {

using test::slurp;
using test::TemporaryFolder;
using test::write;
using testing::HasSubstr;

/// A checkpoint of one weight with its average, and a piece that is half of a tensor.
std::filesystem::path save(const std::filesystem::path& parent) {
  static const std::array<float, 4> kValues = {1, 2, 3, 4};
  const auto bytes = std::as_bytes(std::span(kValues));
  CheckpointContent content;
  content.step = 7;
  content.pieces = {
      {whole_piece("w", "exp_avg", Dtype::kFloat32, {2, 2}), bytes},
      {whole_piece("w", "param", Dtype::kFloat32, {2, 2}), bytes},
      {{.name = "part", .state = "exp_avg", .shape = {8}, .box = {.offset = {4}, .extent = {4}}},
       bytes}};
  content.values = Json::parse(
      R"({"optimizer": {"groups": [{"name": "matrices", "rule": "muon", "params": ["w"],
                                    "options": {"lr": 0.25, "weight_decay": 0.5}}]}})");
  return save_checkpoint(parent, content);
}

TEST(Inspect, ShowsEverythingAPersonAsksFor) {
  const TemporaryFolder folder;
  const auto report = inspect(save(folder.path()), true);
  EXPECT_EQ(report.step, 7);
  EXPECT_EQ(report.bytes(), 48u);
  ASSERT_EQ(report.pieces.size(), 3u);
  EXPECT_EQ(report.pieces[0].info.state, "param");  // weights first
  EXPECT_EQ(report.pieces[0].file, "weights.safetensors");
  EXPECT_EQ(report.pieces[0].checksum.size(), 16u);
  EXPECT_EQ(report.pieces[0].checksum, report.pieces[2].checksum) << "equal bytes";
  EXPECT_EQ(report.pieces[1].info.name, "part");
  const std::string text = report.text();
  EXPECT_THAT(text, HasSubstr("format steepest-checkpoint-1, step 7, 3 pieces, 48 bytes of values; "
                              "checksums verified"));
  EXPECT_THAT(text,
              HasSubstr("matrices            muon               1        0.25         0.5\n"));
  EXPECT_THAT(text, HasSubstr("[4] at [4] of [8]\n"));
  EXPECT_THAT(text, HasSubstr("[2, 2]\n"));
  EXPECT_THAT(inspect(report.folder, false).text(), HasSubstr("checksums not verified (--verify)"));
}

TEST(Inspect, Json) {
  const TemporaryFolder folder;
  const Json json = inspect(save(folder.path()), false).json();
  EXPECT_EQ(json["step"], 7);
  EXPECT_EQ(json["verified"], false);
  EXPECT_EQ(json["pieces"][0]["name"], "w");
  EXPECT_EQ(json["pieces"][0]["dtype"], "float32");
  EXPECT_EQ(json["pieces"][1]["box"]["offset"], Json::parse("[4]"));
  EXPECT_EQ(json["files"].size(), 2u);
  EXPECT_EQ(json["values"]["optimizer"]["groups"][0]["rule"], "muon");
}

TEST(Inspect, FindsAnAlteredByteOnlyWhenItIsAskedToVerify) {
  const TemporaryFolder folder;
  const auto path = save(folder.path());
  std::string bytes = slurp(path / "weights.safetensors");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write(path / "weights.safetensors", bytes);
  EXPECT_NO_THROW(inspect(path, false));
  try {
    inspect(path, true);
    FAIL();
  } catch (const CheckpointError& error) {
    EXPECT_THAT(error.what(), HasSubstr("weights.safetensors"));
  }
}

TEST(Inspect, RefusesWhatIsNoCheckpoint) {
  const TemporaryFolder folder;
  EXPECT_THROW(inspect(folder.path(), false), CheckpointError);
  EXPECT_THROW(inspect(folder.path() / "nothing", true), CheckpointError);
}

}  // namespace
}  // namespace steepest
