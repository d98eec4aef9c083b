#include "steepest/checkpoint/safetensors.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstring>
#include <limits>
#include <set>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "tests/support/errors.h"
#include "tests/support/temporary_folder.h"

namespace steepest {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;
using test::write;

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// A file with this header, whose length is written in front of it.
std::string file_of(std::string_view header, std::string_view data = "") {
  const std::uint64_t length = header.size();
  std::string all(8, '\0');
  std::memcpy(all.data(), &length, 8);
  return all.append(header).append(data);
}

struct Name {
  Dtype dtype;
  const char* text;
  std::size_t size;
};
const Name kDtypes[] = {{Dtype::kFloat32, "F32", 4}, {Dtype::kFloat64, "F64", 8},
                        {Dtype::kFloat16, "F16", 2}, {Dtype::kBFloat16, "BF16", 2},
                        {Dtype::kInt64, "I64", 8},   {Dtype::kInt32, "I32", 4},
                        {Dtype::kInt16, "I16", 2},   {Dtype::kInt8, "I8", 1},
                        {Dtype::kUInt8, "U8", 1},    {Dtype::kBool, "BOOL", 1}};

TEST(Safetensors, IsTheFormatByteForByte) {
  const std::string a("\1\2\3\4\5\6\7\10", 8), b("\1\0", 2);
  const std::string bytes = safetensors_bytes(
      {{"b", Dtype::kBool, {2, 1}, bytes_of(b)}, {"a", Dtype::kFloat32, {2}, bytes_of(a)}},
      {{"by", "hand"}});
  std::string header =
      R"({"__metadata__":{"by":"hand"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
      R"("b":{"dtype":"BOOL","shape":[2,1],"data_offsets":[8,10]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  EXPECT_EQ(bytes, file_of(header, a + b));
}

TEST(Safetensors, WritesAnEmptyFile) {
  EXPECT_EQ(safetensors_bytes({}), file_of("{}      "));
  const TemporaryFolder folder;
  write(folder.path() / "x", safetensors_bytes({}));
  EXPECT_TRUE(SafetensorsFile(folder.path() / "x").tensors().empty());
}

TEST(Safetensors, KeepsEveryDtypeScalarsAndEmptyTensors) {
  const TemporaryFolder folder;
  for (const Name& each : kDtypes) {
    std::string values(6 * each.size, '\0');
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<char>(37 * i + 251);
    const std::string scalar = values.substr(0, each.size);
    const std::string bytes = safetensors_bytes({{"full", each.dtype, {3, 2}, bytes_of(values)},
                                                 {"scalar", each.dtype, {}, bytes_of(scalar)},
                                                 {"empty", each.dtype, {4, 0, 2}, {}}});
    EXPECT_NE(bytes.find(std::string(R"("dtype":")") + each.text + '"'), std::string::npos);
    write(folder.path() / "x", bytes);
    const SafetensorsFile file(folder.path() / "x");
    ASSERT_EQ(file.tensors().size(), 3u) << each.text;
    const auto& full = file.tensors().at("full");
    EXPECT_EQ(full.name, "full");
    EXPECT_EQ(full.dtype, each.dtype);
    EXPECT_EQ(full.shape, (std::vector<std::int64_t>{3, 2}));
    EXPECT_EQ(text_of(full.bytes), values);
    EXPECT_EQ(text_of(file.tensors().at("scalar").bytes), scalar);
    EXPECT_TRUE(file.tensors().at("scalar").shape.empty());
    EXPECT_EQ(file.tensors().at("empty").shape, (std::vector<std::int64_t>{4, 0, 2}));
    EXPECT_TRUE(file.tensors().at("empty").bytes.empty());
    EXPECT_EQ(text_of(file.bytes()), bytes);
  }
}

// Sorted by name, whatever the order given; the data starts at a multiple of 8; what was written is
// read.
TEST(Safetensors, RoundTripsWhateverTheOrder) {
  const TemporaryFolder folder;
  EXPECT_TRUE(rc::check([&] {
    const auto names = *rc::gen::unique<std::vector<std::string>>(
        rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::inRange('!', '~'))));
    std::vector<std::string> values;
    std::vector<SafetensorsEntry> entries;
    for (std::size_t i = 0; i < names.size(); ++i) {
      const Name& dtype = kDtypes[*rc::gen::inRange<std::size_t>(0, std::size(kDtypes))];
      const auto shape = *rc::gen::resize(
          4, rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 4)));
      std::size_t count = dtype.size;
      for (const std::int64_t each : shape) count *= static_cast<std::size_t>(each);
      values.push_back(*rc::gen::container<std::string>(count, rc::gen::arbitrary<char>()));
      entries.push_back({names[i], dtype.dtype, shape, {}});
    }
    for (std::size_t i = 0; i < names.size(); ++i) entries[i].bytes = bytes_of(values[i]);
    const std::map<std::string, std::string> metadata = {{"format", "pt"}};
    const std::string bytes = safetensors_bytes(entries, metadata);
    std::vector<SafetensorsEntry> turned(entries.rbegin(), entries.rend());
    RC_ASSERT(safetensors_bytes(turned, metadata) == bytes);

    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), 8);
    RC_ASSERT(length % 8 == 0u);

    write(folder.path() / "x", bytes);
    const SafetensorsFile file(folder.path() / "x");
    RC_ASSERT(file.metadata() == metadata);
    RC_ASSERT(file.tensors().size() == entries.size());
    for (const SafetensorsEntry& each : entries) {
      const auto& got = file.tensors().at(each.name);
      RC_ASSERT(got.dtype == each.dtype);
      RC_ASSERT(got.shape == each.shape);
      RC_ASSERT(text_of(got.bytes) == text_of(each.bytes));
    }
  }));
}

TEST(Safetensors, RefusesWhatCannotBeWritten) {
  const std::string four = "1234";
  const auto fits = [&](std::string name) {
    return SafetensorsEntry{std::move(name), Dtype::kFloat32, {}, bytes_of(four)};
  };
  EXPECT_ERROR(ConfigError, safetensors_bytes({fits("w"), fits("v"), fits("w")}),
               "two tensors of a file have the name 'w'; a name stands for one tensor; give each a "
               "name of its own");
  EXPECT_ERROR(ConfigError, safetensors_bytes({fits("__metadata__")}),
               "a tensor has the name '__metadata__'; the format keeps it for itself; give it "
               "another name");
  EXPECT_ERROR(ConfigError, safetensors_bytes({fits("\xff")}),
               "the name of a tensor or a text of the metadata is not UTF-8; the header is JSON; "
               "give it a name in UTF-8");
  EXPECT_ERROR(
      ConfigError, safetensors_bytes({{"w", Dtype::kFloat32, {2}, bytes_of(four)}}),
      "tensor 'w' has 4 bytes, which do not fit its shape; it could not be read back; give "
      "the shape and element type that its bytes have");
  EXPECT_ERROR(
      ConfigError, safetensors_bytes({{"w", Dtype::kFloat32, {-1}, bytes_of(four)}}),
      "tensor 'w' has 4 bytes, which do not fit its shape; it could not be read back; give "
      "the shape and element type that its bytes have");
  // 2^32 * 2^32 elements are 0 elements in 64 bits.
  const std::int64_t large = std::int64_t{1} << 32;
  EXPECT_ERROR(
      ConfigError, safetensors_bytes({{"w", Dtype::kUInt8, {large, large}, {}}}),
      "tensor 'w' has 0 bytes, which do not fit its shape; it could not be read back; give "
      "the shape and element type that its bytes have");
}

struct Malformed {
  const char* name;
  std::string bytes;
  const char* why;
};
/// An object with one tensor 'w' of these fields.
std::string one(std::string_view fields) { return R"({"w":{)" + std::string(fields) + "}}"; }
std::string nested(int depth) {
  return R"({"w":)" + std::string(depth, '[') + std::string(depth, ']') + "}";
}

const Malformed kMalformed[] = {
    {"empty", "", "it has 0 bytes, less than the header's length takes"},
    {"short", "1234567", "it has 7 bytes, less than the header's length takes"},
    {"no_header", std::string("\x02\0\0\0\0\0\0\0", 8),
     "its header is said to have 2 bytes, the file has 8"},
    {"header_beyond_the_file", std::string("\x03\0\0\0\0\0\0\0{}", 10),
     "its header is said to have 3 bytes, the file has 10"},
    // 8 + length wraps around to 7.
    {"absurd_header", std::string(8, '\xff') + "{}",
     "its header is said to have 18446744073709551615 bytes, the file has 10"},
    {"empty_header", file_of(""), "its header is not JSON"},
    {"not_json", file_of("{]"), "its header is not JSON"},
    {"a_list", file_of("[]"), "its header is not JSON"},
    {"text_behind_json", file_of("{} x"), "its header is not JSON"},
    {"nul_behind_json", file_of(std::string("{}\0x", 4)), "its header is not JSON"},
    {"not_utf8", file_of("{\"\xff\":1}"), "its header is not JSON"},
    {"deep", file_of(nested(1000000)), "its header is nested too deeply"},
    {"metadata_no_map", file_of(R"({"__metadata__":1})"), "its metadata is not a map"},
    {"metadata_no_text", file_of(R"({"__metadata__":{"a":1}})"), "metadata 'a' is not a text"},
    {"no_map", file_of(R"({"w":1})"), "tensor 'w' has no dtype"},
    {"no_dtype", file_of(one(R"("shape":[],"data_offsets":[0,0])")), "tensor 'w' has no dtype"},
    {"no_shape", file_of(one(R"("dtype":"U8","data_offsets":[0,0])")), "tensor 'w' has no shape"},
    {"no_offsets", file_of(one(R"("dtype":"U8","shape":[0])")), "tensor 'w' has no data_offsets"},
    {"unknown_dtype", file_of(one(R"("dtype":"F4","shape":[0],"data_offsets":[0,0])")),
     R"(tensor 'w' has the unknown type "F4")"},
    {"dtype_no_text", file_of(one(R"("dtype":4,"shape":[0],"data_offsets":[0,0])")),
     "tensor 'w' has the unknown type 4"},
    {"shape_no_list", file_of(one(R"("dtype":"U8","shape":3,"data_offsets":[0,0])")),
     "tensor 'w' has no shape"},
    {"negative_size", file_of(one(R"("dtype":"U8","shape":[-1],"data_offsets":[0,0])")),
     "tensor 'w' has the shape [-1]"},
    {"broken_size", file_of(one(R"("dtype":"U8","shape":[0.5],"data_offsets":[0,0])")),
     "tensor 'w' has the shape [0.5]"},
    {"size_beyond_63_bits",
     file_of(one(R"("dtype":"U8","shape":[18446744073709551615],"data_offsets":[0,0])")),
     "tensor 'w' has the shape [18446744073709551615]"},
    {"product_beyond_64_bits",
     file_of(one(R"("dtype":"U8","shape":[4294967296,4294967296],"data_offsets":[0,0])")),
     "tensor 'w' has 0 bytes, which do not fit its shape [4294967296,4294967296]"},
    {"bytes_beyond_64_bits",
     file_of(one(R"("dtype":"F64","shape":[2305843009213693952],"data_offsets":[0,0])")),
     "tensor 'w' has 0 bytes, which do not fit its shape [2305843009213693952]"},
    {"one_offset", file_of(one(R"("dtype":"U8","shape":[0],"data_offsets":[0])")),
     "tensor 'w' has the offsets [0]"},
    {"negative_offset", file_of(one(R"("dtype":"U8","shape":[1],"data_offsets":[-1,0])")),
     "tensor 'w' has the offsets [-1,0]"},
    {"offsets_turned", file_of(one(R"("dtype":"U8","shape":[1],"data_offsets":[1,0])"), "1"),
     "tensor 'w' lies outside the file (it ends at byte 0 of 1)"},
    {"out_of_range", file_of(one(R"("dtype":"U8","shape":[2],"data_offsets":[0,2])"), "1"),
     "tensor 'w' lies outside the file (it ends at byte 2 of 1)"},
    {"size_not_of_shape", file_of(one(R"("dtype":"F32","shape":[2],"data_offsets":[0,4])"), "1234"),
     "tensor 'w' has 4 bytes, which do not fit its shape [2]"},
    {"overlap",
     file_of(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
             R"("w":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}})",
             "123"),
     "its tensors overlap or leave a gap"},
    {"same_place",
     file_of(R"({"v":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
             R"("w":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}})",
             "12"),
     "its tensors overlap or leave a gap"},
    {"gap",
     file_of(R"({"v":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
             R"("w":{"dtype":"U8","shape":[1],"data_offsets":[2,3]}})",
             "123"),
     "its tensors overlap or leave a gap"},
    {"gap_in_front", file_of(one(R"("dtype":"U8","shape":[1],"data_offsets":[1,2])"), "12"),
     "its tensors overlap or leave a gap"},
    {"rest_behind", file_of(one(R"("dtype":"U8","shape":[1],"data_offsets":[0,1])"), "12"),
     "its tensors take 1 bytes, the file holds 2"},
    {"tensor_twice",
     file_of(R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
             R"("w":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
             "1"),
     "its header has a key twice"},
    {"field_twice",
     file_of(one(R"("dtype":"U8","dtype":"I8","shape":[1],"data_offsets":[0,1])"), "1"),
     "its header has a key twice"},
};

struct SafetensorsMalformed : testing::TestWithParam<Malformed> {};
TEST_P(SafetensorsMalformed, IsRefusedByName) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x.safetensors";
  write(path, GetParam().bytes);
  EXPECT_ERROR(CheckpointError, SafetensorsFile{path},
               path.string() + " is not a whole safetensors file; " + GetParam().why +
                   "; take another copy of it");
}
INSTANTIATE_TEST_SUITE_P(, SafetensorsMalformed, testing::ValuesIn(kMalformed),
                         [](const auto& i) { return i.param.name; });

// Keys of different maps may be equal, and an empty tensor may lie at any border.
TEST(Safetensors, TakesWhatOtherWritersWrite) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  write(path, file_of(R"( {"z":{"shape":[1],"data_offsets":[0,1],"dtype":"U8"},)"
                      R"("e":{"shape":[0],"data_offsets":[1,1],"dtype":"F32"},)"
                      R"("dtype":{"shape":[1],"data_offsets":[1,2],"dtype":"I8"}}  )",
                      "12"));
  const SafetensorsFile file(path);
  EXPECT_EQ(text_of(file.tensors().at("z").bytes), "1");
  EXPECT_EQ(text_of(file.tensors().at("dtype").bytes), "2");
  EXPECT_TRUE(file.tensors().at("e").bytes.empty());
}

TEST(Safetensors, SaysWhatCannotBeRead) {
  const TemporaryFolder folder;
  EXPECT_ERROR(IoError, SafetensorsFile(folder.path() / "no"),
               "reading " + (folder.path() / "no").string() +
                   " failed: No such file or directory; check the path");
  EXPECT_ERROR(
      IoError, SafetensorsFile{folder.path()},
      "reading " + folder.path().string() + " failed: Is a directory; give the path of a file");
}

// By itself a file has no checksum: a cut is always seen, a flipped byte is seen or changes what is
// read, and nothing crashes.
TEST(Safetensors, CutsAreRefusedAndFlipsDoNotCrash) {
  const TemporaryFolder folder;
  const fs::path path = folder.path() / "x";
  const std::string values(300, 'v');
  const std::string whole = safetensors_bytes({{"a", Dtype::kFloat32, {25, 3}, bytes_of(values)},
                                               {"b", Dtype::kUInt8, {300}, bytes_of(values)}});
  for (std::size_t size = 0; size < whole.size(); ++size) {
    write(path, whole.substr(0, size));
    EXPECT_THROW(SafetensorsFile{path}, CheckpointError) << size;
  }
  write(path, whole + '\0');
  EXPECT_THROW(SafetensorsFile{path}, CheckpointError);
  std::uint64_t length = 0;
  std::memcpy(&length, whole.data(), 8);
  std::size_t refused = 0;
  for (std::size_t at = 0; at < 8 + length; ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = whole;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      write(path, flipped);
      try {
        const SafetensorsFile file(path);
        for (const auto& [name, tensor] : file.tensors())
          EXPECT_EQ(text_of(tensor.bytes), values) << at;
      } catch (const CheckpointError&) {
        ++refused;
      }
    }
  EXPECT_GT(refused, 7 * length);  // what is left are letters of names
}

// Part by part into a file: the same bytes, and what is told about them is so.
TEST(Safetensors, WritesWhatItSerializes) {
  const TemporaryFolder folder;
  const std::string large(3'000'001, 'x');
  const std::vector<SafetensorsEntry> entries = {{"b", Dtype::kUInt8, {3'000'001}, bytes_of(large)},
                                                 {"a", Dtype::kUInt8, {3}, bytes_of("abc")}};
  const WrittenSafetensors written = write_safetensors(folder.path() / "x", entries);
  const std::string bytes = test::slurp(folder.path() / "x");
  EXPECT_TRUE(bytes == safetensors_bytes(entries));
  EXPECT_EQ(written.bytes, bytes.size());
  EXPECT_EQ(written.checksum, checksum(bytes));
  EXPECT_EQ(bytes.substr(written.data_begin, 4), "abcx");
  // Nothing is made where the entries are wrong.
  EXPECT_THROW(write_safetensors(folder.path() / "y", {{"w", Dtype::kUInt8, {2}, {}}}),
               ConfigError);
  EXPECT_FALSE(fs::exists(folder.path() / "y"));
}

TEST(Safetensors, CanBeMoved) {
  const TemporaryFolder folder;
  write(folder.path() / "x", safetensors_bytes({{"a", Dtype::kUInt8, {3}, bytes_of("abc")}}));
  SafetensorsFile first(folder.path() / "x");
  const SafetensorsFile second = std::move(first);
  EXPECT_EQ(text_of(second.tensors().at("a").bytes), "abc");
}

}  // namespace
}  // namespace steepest
