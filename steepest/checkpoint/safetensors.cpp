#include "steepest/checkpoint/safetensors.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>

#include "steepest/base/error.h"
#include "steepest/base/json_fields.h"

namespace steepest {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the format is little-endian, and written as memory has it");

constexpr std::array<std::pair<Dtype, std::string_view>, 10> kNames{{{Dtype::kFloat32, "F32"},
                                                                     {Dtype::kFloat64, "F64"},
                                                                     {Dtype::kFloat16, "F16"},
                                                                     {Dtype::kBFloat16, "BF16"},
                                                                     {Dtype::kInt64, "I64"},
                                                                     {Dtype::kInt32, "I32"},
                                                                     {Dtype::kInt16, "I16"},
                                                                     {Dtype::kInt8, "I8"},
                                                                     {Dtype::kUInt8, "U8"},
                                                                     {Dtype::kBool, "BOOL"}}};
/// The format's own limit on headers.
constexpr std::uint64_t kLargestHeader = 100'000'000;
constexpr std::uint64_t kLengthBytes = 8;
/// The format needs 3; JSON is printed and copied by recursion, which must not take the stack.
constexpr int kDeepestHeader = 8;

std::string_view safetensors_name(Dtype dtype) {
  for (const auto& [value, text] : kNames)
    if (value == dtype) return text;
  return "?";
}

/// Bytes of a tensor, or nothing where a size is negative or the product does not fit.
std::optional<std::uint64_t> byte_count(Dtype dtype, const std::vector<std::int64_t>& shape) {
  std::uint64_t count = size_of(dtype);
  for (const std::int64_t each : shape) {
    if (each < 0) return std::nullopt;
    if (__builtin_mul_overflow(count, static_cast<std::uint64_t>(each), &count))
      return std::nullopt;
  }
  return count;
}

}  // namespace

std::string safetensors_bytes(std::vector<SafetensorsEntry> entries,
                              const std::map<std::string, std::string>& metadata) {
  std::ranges::sort(entries, {}, &SafetensorsEntry::name);
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry& each = entries[i];
    if (each.name == "__metadata__")
      throw ConfigError({.what = "a tensor has the name '__metadata__'",
                         .why = "the format keeps it for itself"});
    if (i > 0 && entries[i - 1].name == each.name)
      throw ConfigError(
          {.what = fmt::format("two tensors of a file have the name '{}'", each.name)});
    if (byte_count(each.dtype, each.shape) != each.bytes.size())
      throw ConfigError({.what = fmt::format("tensor '{}' has {} bytes, which do not fit its shape",
                                             each.name, each.bytes.size())});
    header[each.name] = Json{{"dtype", std::string(safetensors_name(each.dtype))},
                             {"shape", each.shape},
                             {"data_offsets", {offset, offset + each.bytes.size()}}};
    offset += each.bytes.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw ConfigError({.what = "the name of a tensor or a text of the metadata is not UTF-8",
                       .why = "the header is JSON"});
  }
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  const std::uint64_t length = text.size();
  std::string all(reinterpret_cast<const char*>(&length), sizeof length);
  all.reserve(all.size() + text.size() + offset);
  all += text;
  for (const SafetensorsEntry& each : entries)
    all.append(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
  return all;
}

struct SafetensorsFile::Impl {
  std::filesystem::path path;
  void* mapping = nullptr;
  std::size_t size = 0;
  std::map<std::string, SafetensorsEntry> tensors;
  std::map<std::string, std::string> metadata;

  ~Impl() {
    if (mapping != nullptr) ::munmap(mapping, size);
  }

  [[noreturn]] void refuse(std::string_view why) const {
    throw CheckpointError({.what = fmt::format("{} is not a whole safetensors file", path.string()),
                           .why = std::string(why),
                           .remedy = "take another copy of it"});
  }

  void map() {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0)
      throw IoError(
          {.what = fmt::format("reading {} failed: {}", path.string(), std::strerror(errno))});
    struct stat info {};
    if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(file);
      throw IoError({.what = fmt::format("reading {} failed: it is not a file", path.string())});
    }
    size = static_cast<std::size_t>(info.st_size);
    if (size > 0) {
      void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
      if (at != MAP_FAILED) mapping = at;
    }
    ::close(file);
    if (size > 0 && mapping == nullptr)
      throw IoError(
          {.what = fmt::format("mapping {} failed: {}", path.string(), std::strerror(errno))});
  }

  void parse() {
    if (size < kLengthBytes)
      refuse(fmt::format("it has {} bytes, less than the header's length takes", size));
    const char* const bytes = static_cast<const char*>(mapping);
    std::uint64_t length = 0;
    std::memcpy(&length, bytes, kLengthBytes);
    if (length > kLargestHeader || length > size - kLengthBytes)
      refuse(fmt::format("its header is said to have {} bytes, the file has {}", length, size));
    const std::uint64_t data_size = size - kLengthBytes - length;
    std::vector<std::set<std::string>> keys;  // of the maps that are open, the outermost first
    bool repeated = false, deep = false;
    const auto watch = [&](int depth, Json::parse_event_t event, Json& value) {
      deep = deep || depth > kDeepestHeader;
      if (deep) return true;
      const auto at = static_cast<std::size_t>(depth);
      if (event == Json::parse_event_t::object_start) {
        keys.resize(at + 1);
        keys[at].clear();
      }
      if (event == Json::parse_event_t::key)
        repeated = repeated || !keys[at - 1].insert(value.get<std::string>()).second;
      return true;
    };
    const std::string_view json_text(bytes + kLengthBytes, length);
    // The parser takes a NUL for the end.
    if (json_text.find('\0') != std::string_view::npos) refuse("its header is not JSON");
    const Json header = Json::parse(json_text, watch,
                                    /*allow_exceptions=*/false);
    if (header.is_discarded() || !header.is_object()) refuse("its header is not JSON");
    if (deep) refuse("its header is nested too deeply");
    if (repeated) refuse("its header has a key twice");
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (const auto& [key, value] : header.items()) {
      if (key == "__metadata__") {
        if (!value.is_object()) refuse("its metadata is not a map");
        for (const auto& [name, text] : value.items()) {
          if (!text.is_string()) refuse(fmt::format("metadata '{}' is not a text", name));
          metadata[name] = text.get<std::string>();
        }
        continue;
      }
      ranges.push_back(entry(key, value, bytes + kLengthBytes + length, data_size));
    }
    std::ranges::sort(ranges);
    std::uint64_t end = 0;
    for (const auto& [first, last] : ranges) {
      if (first != end) refuse("its tensors overlap or leave a gap");
      end = last;
    }
    if (end != data_size)
      refuse(fmt::format("its tensors take {} bytes, the file holds {}", end, data_size));
  }

  std::pair<std::uint64_t, std::uint64_t> entry(const std::string& name, const Json& value,
                                                const char* data, std::uint64_t data_size) {
    SafetensorsEntry tensor{};
    tensor.name = name;
    const auto part = [&](const char* key) -> const Json& {
      if (!value.is_object() || !value.contains(key))
        refuse(fmt::format("tensor '{}' has no {}", name, key));
      return value.at(key);
    };
    const Json &dtype = part("dtype"), &shape = part("shape"), &offsets = part("data_offsets");
    bool known = false;
    for (const auto& [ours, text] : kNames)
      if (dtype.is_string() && dtype.get<std::string>() == text) {
        tensor.dtype = ours;
        known = true;
      }
    if (!known) refuse(fmt::format("tensor '{}' has the unknown type {}", name, dtype.dump()));
    if (!shape.is_array()) refuse(fmt::format("tensor '{}' has no shape", name));
    for (const Json& each : shape) {
      if (!each.is_number_unsigned() || each.get<std::uint64_t>() > (std::uint64_t{1} << 62))
        refuse(fmt::format("tensor '{}' has the shape {}", name, shape.dump()));
      tensor.shape.push_back(each.get<std::int64_t>());
    }
    if (!offsets.is_array() || offsets.size() != 2 || !offsets[0].is_number_unsigned() ||
        !offsets[1].is_number_unsigned())
      refuse(fmt::format("tensor '{}' has the offsets {}", name, offsets.dump()));
    const auto first = offsets[0].get<std::uint64_t>(), last = offsets[1].get<std::uint64_t>();
    if (first > last || last > data_size)
      refuse(fmt::format("tensor '{}' lies outside the file (it ends at byte {} of {})", name, last,
                         data_size));
    if (byte_count(tensor.dtype, tensor.shape) != last - first)
      refuse(fmt::format("tensor '{}' has {} bytes, which do not fit its shape {}", name,
                         last - first, shape.dump()));
    tensor.bytes = {reinterpret_cast<const std::byte*>(data + first),
                    static_cast<std::size_t>(last - first)};
    tensors.emplace(name, std::move(tensor));
    return {first, last};
  }
};

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : impl_(std::make_unique<Impl>()) {
  impl_->path = path;
  impl_->map();
  impl_->parse();
}
SafetensorsFile::~SafetensorsFile() = default;
SafetensorsFile::SafetensorsFile(SafetensorsFile&&) noexcept = default;
SafetensorsFile& SafetensorsFile::operator=(SafetensorsFile&&) noexcept = default;

const std::map<std::string, SafetensorsEntry>& SafetensorsFile::tensors() const {
  return impl_->tensors;
}
const std::map<std::string, std::string>& SafetensorsFile::metadata() const {
  return impl_->metadata;
}
std::span<const std::byte> SafetensorsFile::bytes() const {
  return {static_cast<const std::byte*>(impl_->mapping), impl_->size};
}

}  // namespace steepest
