#!/usr/bin/env bash
# Installs into an empty prefix, builds examples/ and a consumer of every header against it as a stranger would, and
# runs them. Usage: install_test.sh SOURCE_DIR BINARY_DIR TORCH_ROOT
set -euo pipefail
source=$1 binary=$2 torch=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$binary" --prefix "$work/prefix" > "$work/install.log"
# libtorch carries another version of fmt, which comes first in programs that take libtorch's include folders as they
# are: no header may need either.
if grep -rnE '\b(fmt|spdlog)(/|::)' "$work/prefix/include"; then
  echo "error: these installed headers mention fmt or spdlog" >&2
  exit 1
fi

# Away from the repository: nothing of it may be needed.
build() {  # folder
  cp -r "$source/$1" "$work/source"
  cmake -S "$work/source" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_PREFIX_PATH="$work/prefix;$torch/share/cmake" > "$work/configure.log" 2>&1 || { cat "$work/configure.log"; exit 1; }
  cmake --build "$work/build"
}

build examples
# find_package must not change the flags of the whole project.
grep -q '^CMAKE_CXX_FLAGS:STRING=$' "$work/build/CMakeCache.txt"
"$work/build/one_rule"
"$work/build/whole_optimizer"
rm -r "$work/source" "$work/build"

build tests/install/consumer
"$work/build/consumer"
"$work/prefix/bin/steepest" --version
