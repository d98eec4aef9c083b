#include "steepest/base/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace steepest {

std::string checksum(std::string_view bytes) { return fmt::format("{:016x}", hash(bytes)); }

std::uint64_t hash(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

}  // namespace steepest
