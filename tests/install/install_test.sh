#!/usr/bin/env bash
# Installs into an empty prefix, builds examples/ against it as a stranger would, and runs them.
# Usage: install_test.sh SOURCE_DIR BINARY_DIR TORCH_ROOT
set -euo pipefail
source=$1 binary=$2 torch=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$binary" --prefix "$work/prefix" > "$work/install.log"
# Away from the repository: nothing of it may be needed.
cp -r "$source/examples" "$work/examples"
cmake -S "$work/examples" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_PREFIX_PATH="$work/prefix;$torch/share/cmake" > "$work/configure.log" || { cat "$work/configure.log"; exit 1; }
# find_package must not change the flags of the whole project.
grep -q '^CMAKE_CXX_FLAGS:STRING=$' "$work/build/CMakeCache.txt"
cmake --build "$work/build"
"$work/build/one_rule"
"$work/build/whole_optimizer"
"$work/prefix/bin/steepest" --version
