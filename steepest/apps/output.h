#pragma once

#include <string_view>

#include "steepest/base/error.h"

namespace steepest::apps {

/// Writes a report to standard output. IoError if it cannot be written (a closed pipe, a full
/// disk).
void print(std::string_view text);
/// One line a problem to standard error: "error: what; why; remedy". Line breaks inside a problem
/// become spaces.
void print_problems(const Error& error);
void print_error(std::string_view text);

}  // namespace steepest::apps
