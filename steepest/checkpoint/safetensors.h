#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "steepest/base/dtype.h"
#include "steepest/base/files.h"

namespace steepest {

/// A tensor to be written: the bytes are borrowed until the call returns.
struct SafetensorsEntry {
  std::string name;
  Dtype dtype = Dtype::kFloat32;
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// Serializes to the safetensors format: 8 bytes length, JSON header (padded with spaces to 8),
/// data. Entries are sorted by name and the header's keys are in a fixed order, so equal tensors
/// give equal bytes. ConfigError: a repeated name, bytes that do not fit the shape.
std::string safetensors_bytes(std::vector<SafetensorsEntry> entries,
                              const std::map<std::string, std::string>& metadata = {});

/// What was written to a file: its bytes, their checksum, and where the first tensor begins.
struct WrittenSafetensors {
  std::uint64_t bytes = 0;
  std::string checksum;
  std::uint64_t data_begin = 0;
};
/// The same bytes, durably into a file, without a copy of the tensors. Errors of the entries come
/// before the file is made.
WrittenSafetensors write_safetensors(const std::filesystem::path& path,
                                     std::vector<SafetensorsEntry> entries,
                                     const WriteObserver& observe = {});

/// A safetensors file, memory mapped. Offsets, sizes, overlaps and dtypes are checked when it is
/// opened: CheckpointError names the file and what is wrong (truncated, header not JSON, tensor out
/// of bounds ...).
class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::filesystem::path& path);
  ~SafetensorsFile();
  SafetensorsFile(SafetensorsFile&&) noexcept;
  SafetensorsFile& operator=(SafetensorsFile&&) noexcept;

  /// Views into the mapping, valid while this object lives; sorted by name.
  const std::map<std::string, SafetensorsEntry>& tensors() const;
  const std::map<std::string, std::string>& metadata() const;
  /// The whole file.
  std::span<const std::byte> bytes() const;
  /// Gives the memory of these views back to the system; reading them again reads the file again.
  void release(std::span<const std::byte> view) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace steepest
