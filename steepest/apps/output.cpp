#include "steepest/apps/output.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

namespace steepest::apps {

void print(std::string_view text) {
  const bool written =
      std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (!written)
    throw IoError(Problem{"standard output cannot be written", std::strerror(errno),
                          "send it somewhere else"});
}

void print_error(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\n', ' ');
  std::fprintf(stderr, "error: %s\n", line.c_str());
}

void print_problems(const Error& error) {
  for (const auto& problem : error.problems()) print_error(problem.text());
}

}  // namespace steepest::apps
