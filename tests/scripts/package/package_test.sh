#!/usr/bin/env bash
# Makes the Debian packages, unpacks them into an empty folder, and uses what is in them.
#
#   tests/scripts/package/package_test.sh SOURCE BUILD [consumer]      (BUILD is configured and built)
#
# With "consumer" an application is built against the unpacked library as well.
set -euo pipefail

source=$(realpath -- "$1")
build=$(realpath -- "$2")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() {
  echo "package_test: $1" >&2
  exit 1
}

if ! command -v dpkg-shlibdeps > /dev/null || ! command -v file > /dev/null; then
  echo "packing needs the packages dpkg-dev and file"
  exit 77
fi
cpack --config "$build/CPackConfig.cmake" -G DEB -B "$scratch/packages" > cpack.log 2>&1 || {
  cat cpack.log >&2
  fail "packing failed"
}
runtime=$(echo packages/troupe_*.deb)
dev=$(echo packages/libtroupe-dev_*.deb)
[ -f "$runtime" ] && [ -f "$dev" ] || fail "packages are missing: $(ls packages)"

python=$(echo packages/python3-troupe_*.deb)
if [ -f "$python" ]; then
  dpkg-deb -f "$python" Depends | grep -q 'python3-numpy.*python3-sklearn' || fail "python3-troupe lacks a dependency"
  dpkg-deb -x "$python" root
  echo "from troupe import TroupeClassifier
print(TroupeClassifier(hidden=(), epochs=2).fit([[0.0], [1.0]] * 20, list('ab') * 20).score([[0.0], [1.0]], ['a', 'b']))" > use.py
  PYTHONPATH=root/usr/lib/python3/dist-packages /usr/bin/python3 use.py > used || fail "the packed module does not train"
  grep -Eqx '[01]\.[05]' used || fail "the packed module scores $(cat used)"
fi

# What the command is linked with has to come along, and nothing that is there to build with.
depends=$(dpkg-deb -f "$runtime" Depends)
for library in libcaf-core libcaf-io libtomlplusplus libfmt libspdlog libssl libc6 python3; do
  grep -q "$library" <<< "$depends" || fail "troupe does not depend on $library: $depends"
done
! grep -q -- '-dev' <<< "$depends" || fail "troupe depends on packages to build with: $depends"
for library in libcaf-dev libxtensor-dev libssl-dev libfmt-dev libspdlog-dev libtomlplusplus-dev libxxhash-dev zlib1g-dev; do
  dpkg-deb -f "$dev" Depends | grep -q "$library" || fail "libtroupe-dev does not depend on $library"
done

# A program in any language needs the client's library, and nothing of actors or Python.
client=$(echo packages/libtroupe-client_*.deb)
[ -f "$client" ] || fail "the client's package is missing: $(ls packages)"
! dpkg-deb -f "$client" Depends | grep -Eq 'caf|python|spdlog|-dev' || fail "libtroupe-client depends on $(dpkg-deb -f "$client" Depends)"
dpkg-deb -x "$client" client
python3 -c "import ctypes, glob
ctypes.CDLL(*glob.glob('client/usr/lib/**/libtroupe_client.so.1', recursive=True)).troupe_client_calls(1)" ||
  fail "the packed library of clients does not load"

dpkg-deb -x "$runtime" root
[ ! -e root/usr/include ] || fail "the command's package has headers"
for file in bin/troupe share/man/man1/troupe.1 share/bash-completion/completions/troupe \
  share/zsh/vendor-completions/_troupe share/doc/troupe/LICENSE \
  share/doc/troupe/examples/deploy/ssh_launch.sh; do
  [ -f "root/usr/$file" ] || fail "/usr/$file was not packed"
done
! root/usr/bin/troupe compare none none 2> compared || fail "the packed command compares folders that are not there"
grep -q "none: there is no such folder" compared || fail "the packed programs do not run: $(cat compared)"
root/usr/bin/troupe version > version || fail "the packed command does not run"
grep -q "^troupe $(dpkg-deb -f "$runtime" Version)\$" version || fail "not its version: $(cat version)"

dpkg-deb -x "$dev" root
mentions=$("$source/tests/scripts/package/mentions.py" root "$source" "$build") ||
  fail "these packed files name the source or build folder: $mentions"
echo "$(dpkg-deb -f "$runtime" Package Version Installed-Size | tr '\n' ' ')"
[ "${3:-}" = consumer ] || exit 0

dpkg-deb -x "$client" root
cp -r "$source/tests/consumer" application
{
  cmake -S application -B built -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$scratch/root/usr"
  cmake --build built
  built/consumer
} > build.log 2>&1 || {
  cat build.log >&2
  fail "the application does not build or run"
}
tail -n 1 build.log | grep -Eqx 'troupe [0-9.]+ [0-9a-f]{64}' || fail "$(tail -n 1 build.log)"
echo "the application trained: $(tail -n 1 build.log)"
