#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says. `tools/check_format.sh --fix` formats.
set -euo pipefail
# Another tree than this one can be given, for the tool's own test.
cd "${STEEPEST_TREE:-$(dirname "${BASH_SOURCE[0]}")/..}"
if ! command -v clang-format > /dev/null; then
  echo "error: clang-format is missing; apt-get install clang-format" >&2
  exit 2
fi
mapfile -d '' files < <(find steepest tests bench examples \( -name '*.h' -o -name '*.cpp' \) -print0 2> /dev/null)
if [ "${1:-}" = --fix ]; then
  clang-format -i "${files[@]}"
  exit
fi
version=$(clang-format --version | grep -oE '[0-9]+' | head -n 1)
if ! problems=$(clang-format --dry-run -Werror "${files[@]}" 2>&1); then
  grep -oE '^[^:]+:[0-9]+' <<< "$problems" | sort -u | head -n 20 || true
  # Other versions break lines elsewhere: only the version the tree was formatted with decides.
  if [ "$version" != 14 ]; then
    echo "clang-format $version formats differently from version 14; not counted as a failure" >&2
    exit 0
  fi
  exit 1
fi
