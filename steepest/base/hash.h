#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace steepest {

/// XXH3, 64 bits, in 16 hexadecimal digits: the checksum of pieces and files in manifests.
std::string checksum(std::string_view bytes);

/// The checksum of bytes that come in parts.
class Checksum {
 public:
  Checksum();
  ~Checksum();
  Checksum(const Checksum&) = delete;
  Checksum& operator=(const Checksum&) = delete;

  void add(std::string_view bytes);
  /// As if nothing had been added.
  void reset();
  /// That of all bytes added so far.
  std::string text() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same as a number, for instance of a parameter's name.
std::uint64_t hash(std::string_view bytes);

}  // namespace steepest
