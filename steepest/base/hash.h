#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace steepest {

/// XXH3, 64 bits, in 16 hexadecimal digits: the checksum of pieces and files in manifests.
std::string checksum(std::string_view bytes);

/// The same as a number, for instance of a parameter's name.
std::uint64_t hash(std::string_view bytes);

}  // namespace steepest
