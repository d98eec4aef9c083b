#include "steepest/checkpoint/safetensors.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <optional>

#include "steepest/base/error.h"
#include "steepest/base/hash.h"
#include "steepest/base/json_fields.h"
#include "steepest/checkpoint/json_text.h"

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

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// What stands in front of the tensors, whose order this settles.
std::string header_of(std::vector<SafetensorsEntry>& entries,
                      const std::map<std::string, std::string>& metadata) {
  std::ranges::sort(entries, {}, &SafetensorsEntry::name);
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::uint64_t offset = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const SafetensorsEntry& each = entries[i];
    if (each.name == "__metadata__")
      throw ConfigError({.what = "a tensor has the name '__metadata__'",
                         .why = "the format keeps it for itself",
                         .remedy = "give it another name"});
    if (i > 0 && entries[i - 1].name == each.name)
      throw ConfigError({.what = fmt::format("two tensors of a file have the name '{}'", each.name),
                         .why = "a name stands for one tensor",
                         .remedy = "give each a name of its own"});
    if (byte_count(each.dtype, each.shape) != each.bytes.size())
      throw ConfigError({.what = fmt::format("tensor '{}' has {} bytes, which do not fit its shape",
                                             each.name, each.bytes.size()),
                         .why = "it could not be read back",
                         .remedy = "give the shape and element type that its bytes have"});
    // Past operator[], which looks through all keys.
    header.get_ref<Json::object_t&>().emplace_back(
        each.name, Json{{"dtype", std::string(safetensors_name(each.dtype))},
                        {"shape", each.shape},
                        {"data_offsets", {offset, offset + each.bytes.size()}}});
    offset += each.bytes.size();
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::type_error&) {
    throw ConfigError({.what = "the name of a tensor or a text of the metadata is not UTF-8",
                       .why = "the header is JSON",
                       .remedy = "give it a name in UTF-8"});
  }
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  const std::uint64_t length = text.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof length) + text;
}

}  // namespace

std::string safetensors_bytes(std::vector<SafetensorsEntry> entries,
                              const std::map<std::string, std::string>& metadata) {
  std::string all = header_of(entries, metadata);
  for (const SafetensorsEntry& each : entries) all += text_of(each.bytes);
  return all;
}

WrittenSafetensors write_safetensors(const std::filesystem::path& path,
                                     std::vector<SafetensorsEntry> entries,
                                     const WriteObserver& observe) {
  // Written and summed up while a part is in the cache.
  constexpr std::size_t kPart = 1 << 20;
  const std::string header = header_of(entries, {});
  WrittenSafetensors written{.bytes = 0, .checksum = {}, .data_begin = header.size()};
  Checksum sum;
  OutputFile file(path, observe);
  const auto put = [&](std::string_view bytes) {
    for (; !bytes.empty(); bytes.remove_prefix(std::min(kPart, bytes.size()))) {
      const std::string_view part = bytes.substr(0, kPart);
      sum.add(part);
      file.write(part);
      written.bytes += part.size();
    }
  };
  put(header);
  for (const SafetensorsEntry& each : entries) put(text_of(each.bytes));
  file.finish();
  written.checksum = sum.text();
  return written;
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
    const InputFile file(path);
    size = static_cast<std::size_t>(file.size());
    if (size == 0) return;
    void* const at = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.descriptor(), 0);
    if (at == MAP_FAILED)
      throw IoError(
          {.what = fmt::format("mapping {} failed: {}", path.string(), std::strerror(errno)),
           .why = "tensors are read where they lie in the file",
           .remedy = "copy it to another disk, or raise the limit with ulimit -v"});
    mapping = at;
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
    const std::string_view json_text(bytes + kLengthBytes, length);
    const JsonText look = look_at_json(json_text, kDeepestHeader);
    if (look.deep) refuse("its header is nested too deeply");
    // A sorted map: that of Json looks through all keys for each.
    const nlohmann::json header =
        look.valid ? nlohmann::json::parse(json_text, nullptr, /*allow_exceptions=*/false)
                   : nlohmann::json();
    if (!header.is_object()) refuse("its header is not JSON");
    if (look.repeated) refuse("its header has a key twice");
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

  std::pair<std::uint64_t, std::uint64_t> entry(const std::string& name,
                                                const nlohmann::json& value, const char* data,
                                                std::uint64_t data_size) {
    SafetensorsEntry tensor{};
    tensor.name = name;
    const auto part = [&](const char* key) -> const nlohmann::json& {
      if (!value.is_object() || !value.contains(key))
        refuse(fmt::format("tensor '{}' has no {}", name, key));
      return value.at(key);
    };
    const nlohmann::json &dtype = part("dtype"), &shape = part("shape"),
                         &offsets = part("data_offsets");
    bool known = false;
    for (const auto& [ours, text] : kNames)
      if (dtype.is_string() && dtype.get<std::string>() == text) {
        tensor.dtype = ours;
        known = true;
      }
    if (!known) refuse(fmt::format("tensor '{}' has the unknown type {}", name, dtype.dump()));
    if (!shape.is_array()) refuse(fmt::format("tensor '{}' has no shape", name));
    for (const nlohmann::json& each : shape) {
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
void SafetensorsFile::release(std::span<const std::byte> view) const {
  // Pages that lie in it whole; those at its ends belong to others too.
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGE_SIZE));
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data());
  const std::uintptr_t first = (begin + page - 1) / page * page,
                       last = (begin + view.size()) / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED);
}
std::span<const std::byte> SafetensorsFile::bytes() const {
  return {static_cast<const std::byte*>(impl_->mapping), impl_->size};
}

}  // namespace steepest
