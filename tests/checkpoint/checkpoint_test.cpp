#include "steepest/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "steepest/checkpoint/safetensors.h"
#include "tests/checkpoint/fixture.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;
using test::bytes_of;
using test::names_in;
using test::slurp;
using test::State;
using test::TemporaryFolder;
using test::text_of;
using test::write;
using Names = std::set<std::string>;

std::string altered(const fs::path& file, const std::string& why) {
  return file.string() + " is not the file that was saved; " + why + "; take another checkpoint";
}
std::string bad_manifest(const fs::path& folder, const std::string& why) {
  return (folder / "manifest.json").string() + "; " + why + "; take another checkpoint";
}
void cut(const fs::path& file, std::size_t size) { write(file, slurp(file).substr(0, size)); }
void flip(const fs::path& file, std::size_t at, int mask = 1) {
  std::string bytes = slurp(file);
  bytes.at(at) = static_cast<char>(bytes[at] ^ mask);
  write(file, bytes);
}
/// Rewrites the manifest of `folder` after `change`, with a checksum that fits.
template <class Change>
void edit_manifest(const fs::path& folder, Change change) {
  Json json = Json::parse(slurp(folder / "manifest.json"));
  json.erase("checksum");
  change(json);
  json["checksum"] = checksum(json.dump());
  write(folder / "manifest.json", json.dump(1) + "\n");
}

TEST(Checkpoint, RoundTrips) {
  const TemporaryFolder folder;
  const State state(7);
  const fs::path path = state.save(folder.path() / "new" / "parent");
  EXPECT_EQ(path, folder.path() / "new" / "parent" / "step-7");
  EXPECT_EQ(names_in(path.parent_path()), Names{"step-7"});
  EXPECT_EQ(names_in(path),
            (Names{"manifest.json", "optimizer.safetensors", "weights.safetensors"}));
  const Checkpoint checkpoint = Checkpoint::open(path);
  EXPECT_TRUE(state.is(checkpoint));
  EXPECT_EQ(checkpoint.folder(), path);
  EXPECT_EQ(checkpoint.manifest()["format"], "steepest-checkpoint-1");
  EXPECT_FALSE(State(7, 'b').is(checkpoint));  // the judge itself can say no
  EXPECT_FALSE(checkpoint.find("layer.weight", "exp_avg_sq"));
  EXPECT_FALSE(checkpoint.find("exp_avg/layer.weight", "param"));
}

// Any program that reads safetensors finds the tensors, by these names; the manifest says where
// each lies.
TEST(Checkpoint, ItsFilesAreSafetensors) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path());
  const SafetensorsFile weights(path / "weights.safetensors"),
      optimizer(path / "optimizer.safetensors");
  EXPECT_EQ(weights.tensors().size(), 2u);
  EXPECT_EQ(weights.tensors().at("layer.weight").shape, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(weights.tensors().at("bias").dtype, Dtype::kBFloat16);
  EXPECT_EQ(optimizer.tensors().size(), 2u);
  EXPECT_TRUE(optimizer.tensors().at("step/layer.weight").shape.empty());
  const Json manifest = Json::parse(slurp(path / "manifest.json"));
  ASSERT_EQ(manifest["pieces"].size(), 4u);
  for (const Json& piece : manifest["pieces"]) {
    const std::string name = piece["name"], state = piece["state"], file = piece["file"];
    const SafetensorsFile in(path / file);
    const auto& tensor = in.tensors().at(state == "param" ? name : state + "/" + name);
    const std::string bytes = slurp(path / file).substr(piece["offset"], piece["bytes"]);
    EXPECT_EQ(text_of(tensor.bytes), bytes) << name << ' ' << state;
    EXPECT_EQ(piece["checksum"], checksum(bytes));
  }
  for (const Json& file : manifest["files"]) {
    const std::string bytes = slurp(path / file["file"].get<std::string>());
    EXPECT_EQ(file["bytes"], bytes.size());
    EXPECT_EQ(file["checksum"], checksum(bytes));
  }
}

TEST(Checkpoint, EqualStatesGiveEqualFilesWhateverTheOrder) {
  const TemporaryFolder folder;
  const fs::path first = State(7).save(folder.path() / "1");
  State turned(7);
  std::ranges::reverse(turned.content().pieces);
  const fs::path second = turned.save(folder.path() / "2");
  for (const std::string& file : names_in(first))
    EXPECT_EQ(slurp(first / file), slurp(second / file)) << file;
}

TEST(Checkpoint, RoundTripsAnyState) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    CheckpointContent content;
    content.step = *rc::gen::inRange<std::int64_t>(0, std::int64_t{1} << 60);
    const auto keys = *rc::gen::unique<std::vector<std::pair<int, int>>>(
        rc::gen::pair(rc::gen::inRange(0, 6), rc::gen::inRange(0, 3)));
    std::vector<std::string> values(keys.size());
    constexpr Dtype kDtypes[] = {
        Dtype::kFloat32, Dtype::kFloat64, Dtype::kFloat16, Dtype::kBFloat16, Dtype::kInt64,
        Dtype::kInt32,   Dtype::kInt16,   Dtype::kInt8,    Dtype::kUInt8,    Dtype::kBool};
    for (std::size_t i = 0; i < keys.size(); ++i) {
      const Dtype dtype = kDtypes[*rc::gen::inRange<std::size_t>(0, std::size(kDtypes))];
      const auto shape = *rc::gen::resize(
          4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4)));
      std::size_t count = size_of(dtype);
      for (const std::int64_t each : shape) count *= static_cast<std::size_t>(each);
      values[i] = *rc::gen::container<std::string>(count, rc::gen::arbitrary<char>());
      constexpr const char* kStates[] = {"param", "exp_avg", "step"};
      content.pieces.push_back({whole_piece("layers." + std::to_string(keys[i].first),
                                            kStates[keys[i].second], dtype, shape),
                                bytes_of(values[i])});
    }
    content.values = {{"number", *rc::gen::arbitrary<double>()},
                      {"count", *rc::gen::arbitrary<std::int64_t>()}};
    const fs::path path = save_checkpoint(folder.path(), content);
    const Checkpoint checkpoint = Checkpoint::open(path);
    RC_ASSERT(checkpoint.step() == content.step);
    RC_ASSERT(checkpoint.values() == content.values);
    RC_ASSERT(checkpoint.pieces().size() == content.pieces.size());
    for (const Piece& each : content.pieces) {
      const auto found = checkpoint.find(each.info.name, each.info.state);
      RC_ASSERT(found.has_value());
      RC_ASSERT(found->info == each.info);
      RC_ASSERT(text_of(found->bytes) == text_of(each.bytes));
    }
    fs::remove_all(path);
  }));
}

TEST(Checkpoint, AStateWithoutTensorsIsAState) {
  const TemporaryFolder folder;
  const fs::path path =
      save_checkpoint(folder.path(), {.step = 0, .pieces = {}, .values = {{"a", 1}}});
  EXPECT_EQ(names_in(path), Names{"manifest.json"});
  EXPECT_EQ(Checkpoint::open(path).values()["a"], 1);
}

TEST(Checkpoint, APieceOfATensorIsKeptButIsNoWholeTensor) {
  const TemporaryFolder folder;
  CheckpointContent content;
  const PieceInfo part{"w", "exp_avg", Dtype::kUInt8, {4}, {{1}, {2}}};
  content.pieces = {{part, bytes_of("xy")}};
  const Checkpoint checkpoint = Checkpoint::open(save_checkpoint(folder.path(), content));
  ASSERT_EQ(checkpoint.pieces().size(), 1u);
  EXPECT_EQ(checkpoint.pieces()[0], part);
  EXPECT_FALSE(checkpoint.find("w", "exp_avg"));
}

TEST(Checkpoint, ReplacesAFolderOfTheSameStep) {
  const TemporaryFolder folder;
  State(7, 'a').save(folder.path());
  const State second(7, 'b');
  const fs::path path = second.save(folder.path());
  EXPECT_TRUE(second.is(Checkpoint::open(path)));
  EXPECT_EQ(names_in(folder.path()), Names{"step-7"});
}

TEST(Checkpoint, OutlivesItsFolder) {
  const TemporaryFolder folder;
  const State state(7);
  const Checkpoint checkpoint = Checkpoint::open(state.save(folder.path()));
  const Checkpoint copy = checkpoint;
  fs::remove_all(folder.path() / "step-7");
  EXPECT_TRUE(state.is(copy));
}

TEST(Checkpoint, RefusesWhatCouldNotBeReadBackAndLeavesNothing) {
  const TemporaryFolder folder;
  const State old(7);
  old.save(folder.path());
  const auto save = [&](std::vector<Piece> pieces, std::int64_t step = 7,
                        Json values = Json::object()) {
    save_checkpoint(folder.path(),
                    {.step = step, .pieces = std::move(pieces), .values = std::move(values)});
  };
  const auto info = [](std::vector<std::int64_t> shape) {
    return whole_piece("w", "exp_avg", Dtype::kUInt8, std::move(shape));
  };
  EXPECT_ERROR(ConfigError, save({}, -1),
               "a checkpoint cannot have the step -1; count steps from 0");
  EXPECT_ERROR(
      ConfigError, save({{{"w", "exp_avg", Dtype::kUInt8, {4}, {{3}, {2}}}, bytes_of("xy")}}),
      "the box of 'exp_avg/w' does not fit its shape; a piece lies inside its tensor; give an "
      "offset and an extent for each dimension, inside the shape");
  EXPECT_ERROR(
      ConfigError, save({{info({2}), bytes_of("xy")}, {info({2}), bytes_of("xy")}}),
      "two tensors of a file have the name 'exp_avg/w'; a name stands for one tensor; give "
      "each a name of its own");
  EXPECT_ERROR(
      ConfigError, save({{info({3}), bytes_of("xy")}}),
      "tensor 'exp_avg/w' has 2 bytes, which do not fit its shape; it could not be read back; "
      "give the shape and element type that its bytes have");
  EXPECT_ERROR(
      ConfigError, save({}, 7, {{"text", "\xff"}}),
      "a name or a value of the checkpoint is not UTF-8; its manifest is JSON; give it names "
      "and texts in UTF-8");
  EXPECT_TRUE(old.is(Checkpoint::open(folder.path() / "step-7")));
  EXPECT_EQ(names_in(folder.path()), Names{"step-7"});
}

TEST(Checkpoint, SaysWhereItCannotSave) {
  const TemporaryFolder folder;
  write(folder.path() / "file", "");
  EXPECT_THROW(State(1).save(folder.path() / "file"), IoError);
  // A file has the name of the folder: it is put aside, as a folder would be.
  write(folder.path() / "step-1", "");
  const State state(1);
  EXPECT_TRUE(state.is(Checkpoint::open(state.save(folder.path()))));
}

TEST(Checkpoint, SaysWhatIsMissing) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path());
  EXPECT_ERROR(CheckpointError, Checkpoint::open(folder.path() / "no"),
               "there is no checkpoint " + (folder.path() / "no").string() +
                   "; give a folder step-N that a run or Optimizer::save wrote");
  fs::rename(path / "weights.safetensors", path / "x");
  for (const bool verify : {true, false})
    EXPECT_ERROR(CheckpointError, Checkpoint::open(path, verify),
                 altered(path / "weights.safetensors", "it is missing"));
  fs::remove(path / "manifest.json");
  EXPECT_ERROR(
      CheckpointError, Checkpoint::open(path),
      (path / "manifest.json").string() +
          " is missing; a checkpoint without its manifest is not whole; take another checkpoint");
}

TEST(Checkpoint, NamesThePieceWhoseBytesWereAltered) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path()), file = path / "optimizer.safetensors";
  const Json pieces = Json::parse(slurp(path / "manifest.json"))["pieces"];
  const auto at = [&](std::string_view state) -> std::size_t {
    for (const Json& each : pieces)
      if (each["state"] == state) return each["offset"];
    return 0;
  };
  for (const std::string state : {"exp_avg", "step"}) {
    flip(file, at(state) + 5);
    EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
                 altered(file, "its checksum differs: '" + state + "/layer.weight' was altered"));
    EXPECT_NO_THROW(Checkpoint::open(path, /*verify=*/false));
    flip(file, at(state) + 5);
  }
  // "layer" becomes "mayer" in the header.
  flip(file, slurp(file).find("layer"), 'l' ^ 'm');
  EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
               altered(file, "its checksum differs: its header was altered"));
}

TEST(Checkpoint, AManifestThatDoesNotFitItsFilesIsRefused) {
  const TemporaryFolder folder;
  const State state(7);
  const fs::path parent = folder.path(), path = parent / "step-7",
                 file = path / "weights.safetensors";
  const auto size = [&] { return fs::file_size(file); };
  const auto piece_of = [](Json& json) -> Json& {
    for (Json& each : json["pieces"])
      if (each["name"] == "layer.weight" && each["state"] == "param") return each;
    throw std::logic_error("no piece");
  };
  state.save(parent);
  edit_manifest(path, [](Json& json) { json["files"] = Json::array(); });
  EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
               altered(path / "optimizer.safetensors", "the manifest does not list it"));
  for (const std::uint64_t offset :
       {std::uint64_t{size() - 47}, ~std::uint64_t{0} - 47, ~std::uint64_t{0}}) {
    state.save(parent);
    edit_manifest(path, [&](Json& json) { piece_of(json)["offset"] = offset; });
    EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
                 altered(file, "piece 'layer.weight' lies outside it"));
  }
  state.save(parent);
  edit_manifest(path, [&](Json& json) { piece_of(json)["bytes"] = 44; });
  EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
               altered(file, "piece 'layer.weight' has 44 bytes, which do not fit its shape"));
  // 2^31 * 2^31 * 4 bytes are 0 bytes in 64 bits.
  state.save(parent);
  edit_manifest(path, [&](Json& json) {
    Json& piece = piece_of(json);
    piece["shape"] = piece["box"]["extent"] = {std::int64_t{1} << 31, std::int64_t{1} << 31};
    piece["bytes"] = 0;
  });
  EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
               altered(file, "piece 'layer.weight' has 0 bytes, which do not fit its shape"));
}

TEST(Checkpoint, ATruncatedFileIsRefusedByName) {
  const TemporaryFolder folder;
  State state(7);
  const std::string large(4096, 'L');
  state.content().pieces.push_back(
      {whole_piece("large", "exp_avg", Dtype::kUInt8, {4096}), bytes_of(large)});
  const fs::path path = state.save(folder.path());
  for (const char* name : {"weights.safetensors", "optimizer.safetensors"}) {
    const std::string whole = slurp(path / name);
    for (std::size_t size = 0; size < whole.size(); size += 97)
      for (const bool verify : {true, false}) {
        cut(path / name, size);
        EXPECT_ERROR(CheckpointError, Checkpoint::open(path, verify),
                     altered(path / name, "it has " + std::to_string(size) + " bytes instead of " +
                                              std::to_string(whole.size())));
        write(path / name, whole);
      }
  }
  const std::string manifest = slurp(path / "manifest.json");
  for (std::size_t size = 0; size < manifest.size(); size += 97) {
    cut(path / "manifest.json", size);
    EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
                 bad_manifest(path, "it is not JSON: truncated or altered"));
    write(path / "manifest.json", manifest);
  }
  EXPECT_TRUE(state.is(Checkpoint::open(path)));
}

TEST(Checkpoint, AHeaderThatDisagreesWithTheManifestIsRefused) {
  const TemporaryFolder folder;
  const State state(7);
  const fs::path path = folder.path() / "step-7", file = path / "optimizer.safetensors";
  const std::function<void(Json&)> changes[] = {[](Json& piece) { piece["name"] = "layer.bias"; },
                                                [](Json& piece) { piece["dtype"] = "int32"; },
                                                [](Json& piece) {
                                                  piece["shape"] = piece["box"]["extent"] = {4, 3};
                                                }};
  for (const auto& change : changes) {
    state.save(folder.path());
    std::string name;
    edit_manifest(path, [&](Json& json) {
      for (Json& each : json["pieces"])
        if (each["state"] == "exp_avg") {
          change(each);
          each["box"]["offset"] = {0, 0};
          name = each["name"];
        }
    });
    for (const bool verify : {true, false})
      EXPECT_ERROR(
          CheckpointError, Checkpoint::open(path, verify),
          altered(file, "its header and the manifest disagree about 'exp_avg/" + name + "'"));
  }
}

// The bytes of one tensor under the name of another: the sum of the file does not show it.
TEST(Checkpoint, TheChecksumOfEachPieceCounts) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path());
  edit_manifest(path, [](Json& json) {
    for (Json& each : json["pieces"])
      if (each["state"] == "exp_avg") each["checksum"] = "0123456789abcdef";
  });
  EXPECT_ERROR(CheckpointError, Checkpoint::open(path),
               altered(path / "optimizer.safetensors",
                       "its checksum differs: 'exp_avg/layer.weight' was altered"));
}

TEST(Checkpoint, WhatIsNoFileIsRefusedAtOnce) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path()), file = path / "weights.safetensors";
  const auto make = [](const fs::path& at, int kind) {
    fs::remove_all(at);
    if (kind == 0) fs::create_directory(at);
    if (kind == 1) {
      ASSERT_EQ(::mkfifo(at.c_str(), 0600), 0);
    }
    if (kind == 2) fs::create_symlink("/dev/zero", at);
  };
  for (const int kind : {0, 1, 2}) {
    make(file, kind);
    for (const bool verify : {true, false})
      EXPECT_ERROR(CheckpointError, Checkpoint::open(path, verify), altered(file, "it is no file"));
  }
  constexpr const char* kWhy[] = {
      "Is a directory; give the path of a file",
      "it is a pipe; only a file has an end that is known before it is read; write its content to "
      "a file and give that",
      "it is a device; only a file has an end that is known before it is read; write its content "
      "to a file and give that"};
  for (const int kind : {0, 1, 2}) {
    make(path / "manifest.json", kind);
    EXPECT_ERROR(IoError, Checkpoint::open(path),
                 "reading " + (path / "manifest.json").string() + " failed: " + kWhy[kind]);
    EXPECT_EQ(newest_checkpoint(folder.path()).refused.size(), 1u);
  }
}

/// Replaces one value somewhere in `json`, chosen by `random`, by another that may not stand there;
/// or removes it, or doubles it.
void mutate(Json& json, std::mt19937& random) {
  std::vector<Json*> all;
  const std::function<void(Json&)> collect = [&](Json& each) {
    all.push_back(&each);
    if (each.is_structured())
      for (Json& inner : each) collect(inner);
  };
  collect(json);
  Json& chosen = *all[random() % all.size()];
  const Json others[] = {nullptr,
                         true,
                         -1,
                         0,
                         1,
                         2,
                         1.5,
                         "x",
                         "..",
                         std::int64_t{1} << 62,
                         1e300,
                         ~std::uint64_t{0},
                         std::string("a\0b", 3),
                         "../x",
                         "/etc/passwd",
                         "NaN",
                         Json::array(),
                         Json::object(),
                         std::numeric_limits<std::int64_t>::min(),
                         Json::parse("[[[[]]]]"),
                         Json::array({-1}),
                         Json::array({std::int64_t{1} << 31, std::int64_t{1} << 33})};
  switch (random() % 4) {
    case 0:
      if (chosen.is_object() && !chosen.empty()) {
        chosen.erase(std::next(chosen.begin(), static_cast<long>(random() % chosen.size())).key());
        return;
      }
      if (chosen.is_array() && !chosen.empty()) {
        chosen.erase(random() % chosen.size());
        return;
      }
      break;
    case 1:
      if (chosen.is_array() && !chosen.empty()) {
        const Json copy = chosen[random() % chosen.size()];
        chosen.push_back(copy);
        return;
      }
      break;
    default:
      break;
  }
  chosen = others[random() % std::size(others)];
}

// A manifest that was forged with a checksum that fits, and files whose header was: what opens
// reads without a crash, and what does not gives an error of ours with a remedy.
TEST(Checkpoint, NoForgeryCrashes) {
  const TemporaryFolder folder;
  const State state(7);
  const fs::path path = state.save(folder.path());
  std::map<std::string, std::string> whole;
  for (const std::string& name : names_in(path)) whole[name] = slurp(path / name);
  std::mt19937 random(1);
  std::size_t opened = 0, refused = 0;
  for (int round = 0; round < 3000; ++round) {
    const bool manifest = round % 3 != 0;
    const std::string name = manifest ? "manifest.json" : "optimizer.safetensors";
    if (manifest) {
      edit_manifest(path, [&](Json& json) {
        for (auto n = 1 + random() % 2; n > 0; --n) mutate(json, random);
        if (!json.is_object()) json = Json::object();
      });
    } else {
      std::string bytes = whole[name];
      for (auto n = 1 + random() % 3; n > 0; --n)
        bytes[random() % bytes.size()] = static_cast<char>(random());
      write(path / name, bytes);
    }
    for (const bool verify : {true, false}) try {
        const Checkpoint checkpoint = Checkpoint::open(path, verify);
        for (const PieceInfo& each : checkpoint.pieces())
          if (const auto found = checkpoint.find(each.name, each.state))
            checksum(text_of(found->bytes));
        // With checksums the bytes are those that were saved, or the file was left alone.
        if (verify)
          for (const Piece& each : state.content().pieces)
            if (const auto found = checkpoint.find(each.info.name, each.info.state)) {
              EXPECT_EQ(text_of(found->bytes), text_of(each.bytes));
            }
        ++opened;
      } catch (const Error& error) {
        for (const Problem& each : error.problems()) {
          EXPECT_FALSE(each.what.empty());
          EXPECT_FALSE(each.remedy.empty()) << error.what();
        }
        ++refused;
      } catch (const std::exception& error) {
        ADD_FAILURE() << "round " << round << ": " << error.what();
      }
    write(path / name, whole[name]);
  }
  EXPECT_GT(opened, 100u);
  EXPECT_GT(refused, 1000u);
}

/// What a child process's peak of memory grows by, in MiB, while it runs `work`; -1: it failed.
template <class Work>
double growth_in_child(Work work) {
  int ends[2];
  if (::pipe(ends) != 0) return -1;
  const pid_t child = ::fork();
  if (child == 0) {
    // The peak of this process alone, from now on.
    std::ofstream("/proc/self/clear_refs") << "5";
    const auto peak = [] {
      std::ifstream in("/proc/self/status");
      for (std::string word; in >> word;)
        if (word == "VmHWM:") {
          in >> word;
          return std::stod(word) / 1024;
        }
      return -1.0;
    };
    double grown = -1;
    try {
      const double before = peak();
      work();
      grown = peak() - before;
    } catch (...) {
    }
    const bool told = ::write(ends[1], &grown, sizeof grown) == sizeof grown;
    ::_exit(told ? 0 : 1);
  }
  ::close(ends[1]);
  double grown = -1;
  if (::read(ends[0], &grown, sizeof grown) != sizeof grown) grown = -1;
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return grown;
}

#ifndef __SANITIZE_ADDRESS__  // which keeps what was freed
// 256 MiB in 16 tensors: saving takes no copy of them, and reading one after the other never has
// more than one in memory beside the copy.
TEST(Checkpoint, NeitherSavingNorReadingHoldsAFileInMemory) {
  const TemporaryFolder folder;
  constexpr std::size_t kCount = 16, kBytes = 16u << 20;
  const std::string values(kBytes, 'v');
  CheckpointContent content;
  for (std::size_t i = 0; i < kCount; ++i)
    content.pieces.push_back({whole_piece("w" + std::to_string(i), "exp_avg", Dtype::kUInt8,
                                          {static_cast<std::int64_t>(kBytes)}),
                              bytes_of(values)});
  const double saving = growth_in_child([&] { save_checkpoint(folder.path(), content); });
  EXPECT_GE(saving, 0);
  EXPECT_LT(saving, 32);
  const double reading = growth_in_child([&] {
    const Checkpoint checkpoint = Checkpoint::open(folder.path() / "step-0");
    for (const PieceInfo& each : checkpoint.pieces())
      if (text_of(checkpoint.find(each.name, each.state)->bytes) != values) std::abort();
  });
  EXPECT_GE(reading, 0);
  EXPECT_LT(reading, 64);
}
#endif

// Ten times as many tensors take about ten times as long, not a hundred times.
TEST(Checkpoint, ManyTensorsAreNoMoreThanThat) {
  const TemporaryFolder folder;
  const auto seconds = [&](int count) {
    CheckpointContent content;
    content.step = count;
    for (int i = 0; i < count; ++i)
      content.pieces.push_back(
          {whole_piece("layers." + std::to_string(i) + ".weight", "exp_avg", Dtype::kUInt8, {4}),
           bytes_of("abcd")});
    const auto start = std::chrono::steady_clock::now();
    const Checkpoint checkpoint = Checkpoint::open(save_checkpoint(folder.path(), content));
    for (const PieceInfo& each : checkpoint.pieces())
      EXPECT_TRUE(checkpoint.find(each.name, each.state).has_value());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(1000);
  const double few = std::min(seconds(2000), seconds(2000)), many = seconds(20000);
  EXPECT_LT(many, 40 * few);
}

// Whatever byte is flipped, in whatever file: refused by the file's name; without checksums nothing
// crashes.
TEST(Checkpoint, AFlippedByteIsRefusedByName) {
  const TemporaryFolder folder;
  const fs::path path = State(7).save(folder.path());
  for (const std::string& name : names_in(path)) {
    const std::string whole = slurp(path / name);
    for (std::size_t at = 0; at < whole.size(); ++at) {
      const int mask = at % 2 == 0 ? 1 << (at / 2 % 8) : 0xff;
      flip(path / name, at, mask);
      try {
        Checkpoint::open(path);
        ADD_FAILURE() << name << " byte " << at << " was taken";
      } catch (const CheckpointError& error) {
        EXPECT_THAT(error.what(), testing::HasSubstr((path / name).string())) << at;
      }
      try {
        const Checkpoint unverified = Checkpoint::open(path, /*verify=*/false);
        for (const PieceInfo& each : unverified.pieces())
          if (const auto found = unverified.find(each.name, each.state)) text_of(found->bytes);
      } catch (const CheckpointError&) {
      }
      write(path / name, whole);
    }
  }
}

TEST(Newest, IsTheNewestWholeOneAndSaysWhatWasPassedOver) {
  const TemporaryFolder folder;
  const fs::path parent = folder.path();
  const State want(9);
  // By number, not by text: 100 and 20 are newer than 9.
  for (const std::int64_t step : {3, 20, 100}) State(step).save(parent);
  want.save(parent);
  flip(parent / "step-100" / "optimizer.safetensors",
       fs::file_size(parent / "step-100" / "optimizer.safetensors") - 1);
  fs::remove(parent / "step-20" / "manifest.json");
  const NewestCheckpoint newest = newest_checkpoint(parent);
  ASSERT_TRUE(newest.checkpoint);
  EXPECT_TRUE(want.is(*newest.checkpoint));
  EXPECT_EQ(newest.checkpoint->folder(), parent / "step-9");
  ASSERT_EQ(newest.refused.size(), 2u);
  EXPECT_EQ(newest.refused[0].first, parent / "step-100");
  EXPECT_EQ(newest.refused[0].second,
            altered(parent / "step-100" / "optimizer.safetensors",
                    "its checksum differs: 'step/layer.weight' was altered"));
  EXPECT_EQ(newest.refused[1].first, parent / "step-20");
  EXPECT_THAT(newest.refused[1].second, testing::HasSubstr("manifest.json is missing"));
}

TEST(Newest, IsNoneWhereThereIsNone) {
  const TemporaryFolder folder;
  for (const fs::path& parent : {folder.path(), folder.path() / "no"}) {
    const NewestCheckpoint newest = newest_checkpoint(parent);
    EXPECT_FALSE(newest.checkpoint);
    EXPECT_TRUE(newest.refused.empty());
  }
  State(3).save(folder.path());
  cut(folder.path() / "step-3" / "manifest.json", 0);
  EXPECT_FALSE(newest_checkpoint(folder.path()).checkpoint);
  EXPECT_EQ(newest_checkpoint(folder.path()).refused.size(), 1u);
}

TEST(Newest, OtherNamesAreNoCheckpoints) {
  const TemporaryFolder folder;
  State(3).save(folder.path());
  for (const char* name :
       {"step-", "step-4x", "step--5", "step-+6", "Step-7", "step-99999999999999999999", "best"})
    fs::copy(folder.path() / "step-3", folder.path() / name);
  write(folder.path() / "step-8", "a file");
  const NewestCheckpoint newest = newest_checkpoint(folder.path());
  ASSERT_TRUE(newest.checkpoint);
  EXPECT_EQ(newest.checkpoint->folder().filename(), "step-3");
  EXPECT_TRUE(newest.refused.empty());
}

TEST(Leftovers, OfKilledSavesAreIgnoredAndRemovedAndNothingElseIs) {
  const TemporaryFolder folder;
  const State state(3);
  for (const bool by_reading : {true, false}) {
    state.save(folder.path());
    // Whole, newer, but never put in place.
    fs::copy(folder.path() / "step-3", folder.path() / ".tmp-step-5");
    fs::copy(folder.path() / "step-3", folder.path() / ".old-step-3");
    const Names others = {".tmp-mine", ".old-notes", ".tmp-step-x", "notes"};
    for (const std::string& each : others) write(folder.path() / each / "file", "kept");
    if (by_reading) {
      const NewestCheckpoint newest = newest_checkpoint(folder.path());
      ASSERT_TRUE(newest.checkpoint);
      EXPECT_TRUE(state.is(*newest.checkpoint));
      EXPECT_TRUE(newest.refused.empty());
    } else {
      state.save(folder.path());
    }
    Names left = others;
    left.insert("step-3");
    EXPECT_EQ(names_in(folder.path()), left);
  }
}

// A file system that cannot exchange two names has a moment with only this left.
TEST(Leftovers, AnOldFolderWithoutItsSuccessorGoesBack) {
  const TemporaryFolder folder;
  const State state(3);
  fs::rename(state.save(folder.path()), folder.path() / ".old-step-3");
  const NewestCheckpoint newest = newest_checkpoint(folder.path());
  ASSERT_TRUE(newest.checkpoint);
  EXPECT_TRUE(state.is(*newest.checkpoint));
  EXPECT_EQ(names_in(folder.path()), Names{"step-3"});
}

TEST(Retention, KeepsTheNewest) {
  const TemporaryFolder folder;
  const auto fill = [&] {
    for (const std::int64_t step : {1, 2, 10, 9}) State(step).save(folder.path());
  };
  fill();
  write(folder.path() / "notes", "kept");
  remove_old_checkpoints(folder.path(), 10, 2);
  EXPECT_EQ(names_in(folder.path()), (Names{"notes", "step-10", "step-9"}));
  fill();
  remove_old_checkpoints(folder.path(), 10, 4);
  EXPECT_EQ(names_in(folder.path()).size(), 5u);
  for (const int keep : {0, -3}) {
    fill();
    remove_old_checkpoints(folder.path(), 10, keep);
    EXPECT_EQ(names_in(folder.path()), (Names{"notes", "step-10"}));
  }
  remove_old_checkpoints(folder.path() / "no", 10, 1);
}

TEST(Retention, ABrokenOneDoesNotPushOutTheLastWholeOne) {
  const TemporaryFolder folder;
  const State whole(8);
  for (const std::int64_t step : {5, 9, 10}) State(step).save(folder.path());
  whole.save(folder.path());
  fs::remove(folder.path() / "step-10" / "manifest.json");
  cut(folder.path() / "step-9" / "weights.safetensors", 20);
  remove_old_checkpoints(folder.path(), 8, 1);
  EXPECT_EQ(names_in(folder.path()), (Names{"step-10", "step-9", "step-8"}));
  EXPECT_TRUE(whole.is(*newest_checkpoint(folder.path()).checkpoint));
}

TEST(Retention, AnAlteredNewerOneDoesNotPushOutWhatWasSavedNow) {
  const TemporaryFolder folder;
  for (const std::int64_t step : {5, 6, 9}) State(step).save(folder.path());
  // As long as before, and other bytes: only its checksum tells.
  const fs::path altered = folder.path() / "step-9" / "weights.safetensors";
  std::fstream file(altered, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-1, std::ios::end);
  file.put(static_cast<char>(0x5A));
  file.close();
  const State saved(7);
  saved.save(folder.path());
  remove_old_checkpoints(folder.path(), 7, 1);
  EXPECT_TRUE(saved.is(*newest_checkpoint(folder.path()).checkpoint));
  EXPECT_EQ(names_in(folder.path()), (Names{"step-7", "step-9"}));
}

}  // namespace
}  // namespace steepest
