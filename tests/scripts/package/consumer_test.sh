#!/usr/bin/env bash
# Installs Troupe into an empty folder and builds an application against it that cannot see the
# source tree: what the package forgot to install, or took from the source tree, fails here.
#
#   tests/scripts/package/consumer_test.sh SOURCE BUILD        (BUILD is configured and built)
set -euo pipefail

source=$(realpath -- "$1")
build=$(realpath -- "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "consumer_test: $1" >&2
  exit 1
}

cmake --install "$build" --prefix "$scratch/prefix" > install.log || {
  cat install.log >&2
  fail "installing failed"
}
cp -r "$source/tests/consumer" application

# Whoever follows the README installs what scripts/quickstart built, and no more.
grep -q -- '--target troupe_installed ' "$source/scripts/quickstart" ||
  fail "scripts/quickstart does not build what installing needs"
if [ -f "$build/build.ninja" ]; then
  ninja -C "$build" -t commands troupe_installed > commands
  sed -n "s|^.*\"$build/\([^\"]*\)\".*|\1|p" "$build/cmake_install.cmake" | sort -u > wanted
  while read -r file; do
    # What configuring makes is there.
    ninja -C "$build" -t query "$file" 2> /dev/null | grep '^  input: ' > /dev/null || continue
    ninja -C "$build" -t commands "$file" | tail -n 1 > last
    grep -Fqxf last commands || fail "troupe_installed does not build $file"
  done < wanted
  [ -s wanted ] || fail "nothing is installed from the build folder"
fi

# An application's compiler may not fuse what it inlines from our headers.
grep -q -- '-ffp-contract=off' prefix/lib/cmake/troupe/troupe_core_targets.cmake ||
  fail "who builds against the package is not told -ffp-contract=off"

# Paths in what is installed would work here and nowhere else.
mentions=$("$source/tests/scripts/package/mentions.py" prefix "$source" "$build") ||
  fail "these installed files name the source or build folder: $mentions"
[ -x prefix/bin/troupe ] || fail "the command was not installed"
# Headers name each other in the form they are installed in, and none is there for tests alone.
(cd "$source/include" && find troupe -name '*.h*') | while read -r header; do
  [ -f "prefix/include/$header" ] || fail "$header was not installed"
done
! grep -rn '^#include "' prefix/include/troupe || fail "an installed header includes by a path of the project"
grep -rhoE '^#include <troupe/[^>]+>' prefix/include/troupe | sort -u | sed 's/^#include <\(.*\)>$/\1/' > named
while read -r header; do
  [ -f "prefix/include/$header" ] || fail "$header is included, and was not installed"
done < named
! find prefix/include/troupe -name 'test_*' | grep . || fail "what is for tests alone was installed"

cat > build_and_run << 'END'
set -euo pipefail
cmake -S application -B built -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$PWD/prefix"
cmake --build built
built/consumer > first
built/consumer > second
built/core_consumer > line
built/client_consumer > clients
built/c_consumer >> clients
printf '[data]\nsynthetic = "regression"\n[optimizer]\nkind = "plain"\n' > own.toml
built/own_command train own.toml --json --quiet > own
END

# With the right to do so, an empty file system is laid over the source tree, in a name space of
# these commands alone.
cat > hide_and_run << 'END'
set -euo pipefail
for path; do
  [ ! -e "$path" ] || mount -t tmpfs none "$path" # The first may have hidden the second.
done
[ ! -e "$1/CMakeLists.txt" ]
exec bash build_and_run
END

mkdir probe
run=(bash build_and_run)
if unshare --mount mount -t tmpfs none probe 2> /dev/null; then
  run=(unshare --mount bash hide_and_run "$source" "$build")
else
  echo "the source tree cannot be hidden here: relying on the names in the installed files"
fi
"${run[@]}" > build.log 2>&1 || {
  cat build.log >&2
  fail "the application does not build or run"
}

grep -Eqx 'troupe [0-9.]+ [0-9a-f]{64}' first || fail "unexpected output: $(cat first)"
grep -q '"parameters_sha256":"[0-9a-f]' own || fail "unexpected output: $(cat own)"
[ "$(cat line)" = "3 1" ] || fail "the application without actors found $(cat line)"
[ "$(paste -sd " " clients)" = "69 69" ] || fail "clients without a server ended with $(cat clients)"
cmp first second || fail "two runs gave two results"
echo "the application trained: $(cat first)"
