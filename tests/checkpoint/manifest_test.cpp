#include "steepest/checkpoint/manifest.h"

#include <gtest/gtest.h>

#include <functional>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "tests/support/errors.h"

namespace steepest {
namespace {

Manifest example() {
  Manifest manifest;
  manifest.step = 12;
  PieceInfo part{.name = "w",
                 .state = "exp_avg",
                 .dtype = Dtype::kBFloat16,
                 .shape = {8, 4},
                 .box = {.offset = {2, 0}, .extent = {3, 4}}};
  manifest.pieces = {
      {whole_piece("w", "param", Dtype::kFloat32, {8, 4}), "weights.safetensors", 96, 128, "c1"},
      {std::move(part), "optimizer.safetensors", 80, 24, "c2"}};
  manifest.files = {{"weights.safetensors", 224, "c3"}, {"optimizer.safetensors", 104, "c4"}};
  manifest.values =
      Json::parse(R"({"lr": 0.1, "tiny": 1e-300, "text": "a\u0000\"é", "none": null})");
  return manifest;
}

/// The text of a manifest after `change`, with a checksum that fits it.
std::string changed(const std::function<void(Json&)>& change) {
  Json json = Json::parse(write_manifest(example()));
  json.erase("checksum");
  change(json);
  json["checksum"] = checksum(json.dump());
  return json.dump(1) + "\n";
}

TEST(Manifest, RoundTrips) {
  const Manifest want = example(), got = read_manifest(write_manifest(want), "m");
  EXPECT_EQ(got.step, 12);
  EXPECT_EQ(got.values, want.values);
  ASSERT_EQ(got.pieces.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(got.pieces[i].info, want.pieces[i].info);
    EXPECT_EQ(got.pieces[i].file, want.pieces[i].file);
    EXPECT_EQ(got.pieces[i].offset, want.pieces[i].offset);
    EXPECT_EQ(got.pieces[i].bytes, want.pieces[i].bytes);
    EXPECT_EQ(got.pieces[i].checksum, want.pieces[i].checksum);
  }
  ASSERT_EQ(got.files.size(), 2u);
  EXPECT_EQ(got.files[1].file, "optimizer.safetensors");
  EXPECT_EQ(got.files[1].bytes, 104u);
  EXPECT_EQ(got.files[1].checksum, "c4");
}

// The names of the keys are the format; other programs read them.
TEST(Manifest, HasTheKeysOfItsFormat) {
  const Json json = Json::parse(write_manifest(example()));
  EXPECT_EQ(json["format"], "steepest-checkpoint-1");
  EXPECT_EQ(json["step"], 12);
  EXPECT_EQ(json["pieces"][1],
            Json::parse(R"({"name": "w", "state": "exp_avg", "dtype": "bfloat16", "shape": [8, 4],
                            "box": {"offset": [2, 0], "extent": [3, 4]},
                            "file": "optimizer.safetensors", "offset": 80, "bytes": 24,
                            "checksum": "c2"})"));
  EXPECT_EQ(json["files"][0],
            Json::parse(R"({"file": "weights.safetensors", "bytes": 224, "checksum": "c3"})"));
}

TEST(Manifest, KeysOfLaterVersionsAreNoFault) {
  EXPECT_EQ(read_manifest(changed([](Json& json) { json["mesh"] = 4; }), "m").step, 12);
}

struct Case {
  const char* name;
  std::function<void(Json&)> change;
  std::string_view why;
};
const Case kCases[] = {
    {"format", [](Json& j) { j["format"] = "steepest-checkpoint-2"; },
     "it has the format 'steepest-checkpoint-2', this version reads 'steepest-checkpoint-1'"},
    {"no_format", [](Json& j) { j.erase("format"); }, "'format' is missing"},
    {"no_step", [](Json& j) { j.erase("step"); }, "'step' is missing"},
    {"negative_step", [](Json& j) { j["step"] = -1; }, "'step' is not a count"},
    {"absurd_step", [](Json& j) { j["step"] = 1ULL << 63; }, "'step' is not a count"},
    {"no_values", [](Json& j) { j.erase("values"); }, "'values' is missing"},
    {"values_list", [](Json& j) { j["values"] = Json::array(); }, "'values' is not a map"},
    {"pieces_map", [](Json& j) { j["pieces"] = Json::object(); },
     "'pieces' or 'files' is not a list"},
    {"files_text", [](Json& j) { j["files"] = "x"; }, "'pieces' or 'files' is not a list"},
    {"piece_text", [](Json& j) { j["pieces"][0] = "x"; }, "an entry is not a map"},
    {"no_name", [](Json& j) { j["pieces"][0].erase("name"); }, "'name' is missing"},
    {"name_number", [](Json& j) { j["pieces"][0]["name"] = 1; }, "'name' is not a text"},
    {"state_null", [](Json& j) { j["pieces"][0]["state"] = nullptr; }, "'state' is not a text"},
    {"dtype", [](Json& j) { j["pieces"][0]["dtype"] = "float4"; }, "'float4' is no element type"},
    {"shape_number", [](Json& j) { j["pieces"][0]["shape"] = 3; }, "'shape' is not a list"},
    {"shape_negative", [](Json& j) { j["pieces"][0]["shape"][0] = -8; },
     "'shape' is not a list of sizes"},
    {"shape_absurd", [](Json& j) { j["pieces"][0]["shape"][0] = ~0ULL; },
     "'shape' is not a list of sizes"},
    {"no_box", [](Json& j) { j["pieces"][1].erase("box"); }, "'box' is missing"},
    {"box_dimensions", [](Json& j) { j["pieces"][1]["box"]["offset"] = {1}; },
     "the box of 'w' does not fit its shape"},
    {"box_outside", [](Json& j) { j["pieces"][1]["box"]["offset"][0] = 6; },
     "the box of 'w' does not fit its shape"},
    {"box_too_large", [](Json& j) { j["pieces"][1]["box"]["extent"][0] = 9; },
     "the box of 'w' does not fit its shape"},
    {"file_leaves", [](Json& j) { j["files"][0]["file"] = "../x"; },
     "'../x' is no name of a file in the folder"},
    {"piece_leaves", [](Json& j) { j["pieces"][0]["file"] = "/etc/passwd"; },
     "'/etc/passwd' is no name of a file in the folder"},
    {"file_empty", [](Json& j) { j["files"][0]["file"] = ""; },
     "'' is no name of a file in the folder"},
    {"file_with_a_zero", [](Json& j) { j["files"][0]["file"] = std::string("a\0b", 3); },
     "'file' holds a zero byte"},
    {"file_twice", [](Json& j) { j["files"][1]["file"] = "weights.safetensors"; },
     "the file 'weights.safetensors' stands twice"},
    {"piece_twice", [](Json& j) { j["pieces"].push_back(Json(j["pieces"][1])); },
     "a piece of 'exp_avg' of 'w' stands twice"},
    {"pieces_of_two_types",
     [](Json& j) {
       j["pieces"].push_back(Json(j["pieces"][1]));
       j["pieces"][2]["dtype"] = "float32";
     },
     "the pieces of 'exp_avg' of 'w' disagree about its type or shape"},
    {"offset_text", [](Json& j) { j["pieces"][0]["offset"] = "1"; }, "'offset' is not a count"},
    {"bytes_broken", [](Json& j) { j["files"][0]["bytes"] = 1.5; }, "'bytes' is not a count"},
    {"no_checksum", [](Json& j) { j["files"][0].erase("checksum"); }, "'checksum' is missing"},
};
struct ManifestFields : testing::TestWithParam<Case> {};
TEST_P(ManifestFields, AreRefusedByName) {
  EXPECT_ERROR(
      CheckpointError, read_manifest(changed(GetParam().change), "f/manifest.json"),
      std::string("f/manifest.json; ").append(GetParam().why) + "; take another checkpoint");
}
INSTANTIATE_TEST_SUITE_P(, ManifestFields, testing::ValuesIn(kCases),
                         [](const auto& i) { return i.param.name; });

TEST(Manifest, TextThatIsNoManifest) {
  const auto refused = [](const std::string& why) {
    return "m; " + why + "; take another checkpoint";
  };
  for (const char* text : {"", "{", "[]", "null", "\xff"})
    EXPECT_ERROR(CheckpointError, read_manifest(text, "m"),
                 refused("it is not JSON: truncated or altered"));
  EXPECT_ERROR(CheckpointError, read_manifest("{}", "m"), refused("'format' is missing"));
  // A program that copies such a text by recursion would run out of stack.
  EXPECT_ERROR(
      CheckpointError,
      read_manifest(R"({"a":)" + std::string(1000000, '[') + std::string(1000000, ']') + "}", "m"),
      refused("it is nested too deeply"));
}

TEST(Manifest, EveryCutAndEveryFlippedBitIsRefused) {
  const std::string whole = write_manifest(example());
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_THROW(read_manifest(whole.substr(0, size), "m"), CheckpointError) << size;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const int mask : {1, 2, 4, 8, 16, 32, 64, 128, 0x2a, 0xff}) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ mask);
      EXPECT_THROW(read_manifest(flipped, "m"), CheckpointError) << at << " mask " << mask;
    }
}

TEST(Manifest, WhiteSpaceAndRepeatedKeysAreAlterationsToo) {
  const std::string whole = write_manifest(example());
  const char* const altered = "m; its checksum differs: it was altered; take another checkpoint";
  EXPECT_ERROR(CheckpointError, read_manifest(whole + "\n", "m"), altered);
  EXPECT_ERROR(CheckpointError, read_manifest(Json::parse(whole).dump(), "m"), altered);
  std::string twice = whole;
  twice.insert(1, "\n \"step\": 11,");
  EXPECT_ERROR(CheckpointError, read_manifest(twice, "m"), altered);
}

TEST(Manifest, TextHasToBeUtf8) {
  Manifest manifest = example();
  manifest.values["text"] = "\xff";
  EXPECT_ERROR(ConfigError, write_manifest(manifest),
               "a name or a value of the checkpoint is not UTF-8; its manifest is JSON; give it "
               "names and texts in UTF-8");
}

TEST(Manifest, BoxesLieWithinShapes) {
  EXPECT_TRUE(lies_within({{}, {}}, {}));
  EXPECT_TRUE(lies_within({{0, 3}, {2, 0}}, {2, 3}));
  EXPECT_FALSE(lies_within({{0}, {2}}, {2, 1}));
  EXPECT_FALSE(lies_within({{-1}, {2}}, {2}));
  EXPECT_FALSE(lies_within({{1}, {-1}}, {2}));
  EXPECT_FALSE(lies_within({{1}, {2}}, {2}));
  // The sum would not fit 63 bits.
  EXPECT_FALSE(
      lies_within({{std::int64_t{1} << 62}, {std::int64_t{1} << 62}}, {std::int64_t{1} << 62}));
}

}  // namespace
}  // namespace steepest
