#!/bin/sh
# Installs what building and testing need, from Debian's packages; does nothing where all of it is present.
set -eu
packages="clang-22 llvm-22-dev lld-22 libclang-rt-22-dev gcc cmake ninja-build pkg-config libjansson-dev libxxhash-dev libcmocka-dev libmpfr-dev libpng-dev doxygen cppcheck clang-tidy-22 python3 python3-numpy"
missing=""
for p in $packages; do
    dpkg-query -W -f='${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
done
[ -z "$missing" ] && exit 0
if ! command -v apt-get >/dev/null 2>&1; then
    echo "tombac: this system has no apt-get; install these packages (or their like) by hand:$missing" >&2
    exit 1
fi
sudo=""
if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || { echo "tombac: need root (or sudo) to install:$missing" >&2; exit 1; }
    sudo=sudo
fi
echo "Installing:$missing"
log=$(mktemp)
if ! { $sudo apt-get update -qq && DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    echo "tombac: apt-get could not install:$missing (whole log: $log)" >&2
    exit 1
fi
rm -f "$log"
