#!/usr/bin/env bash
# Fails when a C++ file is not formatted as .clang-format says. `tools/check_format.sh --fix` formats,
# `--find` prints the clang-format that is used.
set -euo pipefail
# Other versions break lines elsewhere: only the version the tree was formatted with decides.
wanted=14
pinned=14.0.6
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

# The major version of a clang-format; nothing where it does not run.
version_of() {
  "$1" --version 2> /dev/null | grep -oE 'version [0-9]+' | grep -oE '[0-9]+' | head -n 1 || true
}
tool=""
seen=""
for each in "clang-format-$wanted" clang-format "$root/.venv-test/bin/clang-format"; do
  version=$(version_of "$each")
  if [ "$version" = "$wanted" ]; then
    tool=$each
    break
  fi
  if [ -n "$version" ]; then seen="$seen; '$each' is version $version"; fi
done
if [ -z "$tool" ]; then
  echo "error: there is no clang-format $wanted$seen; other versions format differently; \`./run test\` installs it," \
    "or: python3 -m venv .venv-test && .venv-test/bin/python -m pip install clang-format==$pinned" >&2
  exit 2
fi
if [ "${1:-}" = --find ]; then
  echo "$tool"
  exit
fi

# Another tree than this one can be given, for the tool's own test.
cd "${STEEPEST_TREE:-$root}"
mapfile -d '' files < <(find steepest tests bench examples \( -name '*.h' -o -name '*.cpp' \) -print0 2> /dev/null)
if [ "${1:-}" = --fix ]; then
  "$tool" -i "${files[@]}"
  exit
fi
if ! problems=$("$tool" --dry-run -Werror "${files[@]}" 2>&1); then
  grep -oE '^[^:]+:[0-9]+' <<< "$problems" | sort -u | head -n 20 || true
  echo "error: files are not formatted; tools/check_format.sh --fix formats them" >&2
  exit 1
fi
