#pragma once

#include <sys/wait.h>

#include <cstdlib>
#include <string>

#include "tests/support/temporary_folder.h"

namespace steepest::test {

/// What a command came to.
struct Finished {
  int status = 0;  ///< exit status; 128 + N if signal N ended it
  std::string out, err;
};

/// Runs a shell command with `folder` as its working folder.
inline Finished run_command(const std::filesystem::path& folder, const std::string& command) {
  const TemporaryFolder streams;
  const auto out = streams.path() / "out", err = streams.path() / "err";
  const std::string line = "cd '" + folder.string() + "' && { " + command + "; } >'" +
                           out.string() + "' 2>'" + err.string() + "' </dev/null";
  const int result = std::system(line.c_str());
  return {WIFEXITED(result) ? WEXITSTATUS(result) : 128 + WTERMSIG(result), slurp(out), slurp(err)};
}

}  // namespace steepest::test
