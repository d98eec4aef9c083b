#include "steepest/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace steepest {

std::string checksum(std::string_view bytes) {
  return fmt::format("{:016x}", XXH3_64bits(bytes.data(), bytes.size()));
}

}  // namespace steepest
