#!/bin/sh
# The installed tree from a project of its own: find_package(Tombac) and tombac_add_kernels build a program that embeds its kernels
# and runs without a compiler; equal sources give equal artifacts in any folder; a changed header rebuilds; locked mode refuses
# what is stale, by name; the Debian package holds all of it.
# usage: package.sh CMAKE BUILD LIBDIR
set -eu
cmake=$1 build=$2 libdir=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$cmake" --install "$build" --prefix "$work/prefix" >/dev/null
export CMAKE_PREFIX_PATH="$work/prefix" TOMBAC_CACHE="$work/cache"
unset TOMBAC_CC
fail() { echo "FAILED: $*" >&2; exit 1; }

mkdir -p "$work/app/kernels" "$work/app/include"
cat >"$work/app/kernels/twice.metal" <<'END'
#include <metal_stdlib>
#include "factor.h"
using namespace metal;
kernel void twice(device const float *in [[buffer(0)]], device float *out [[buffer(1)]], constant uint &n [[buffer(2)]],
    uint i [[thread_position_in_grid]])
{
    if (i < n) out[i] = in[i] * FACTOR;
}
END
echo '#define FACTOR 2' >"$work/app/include/factor.h"
cat >"$work/app/main.c" <<'END'
#include "twice.h"
#include <stdio.h>
int main(void)
{
    static const float in[4] = {1, 2, 3, 4};
    tombac_error *error = NULL;
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_buffer *a = NULL, *b = NULL;
    tombac_operation *operation = NULL;
    tombac_status status = tombac_device_open(NULL, &device, &error);
    if (status == TOMBAC_OK) status = twice_open(device, &library, &error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "twice", NULL, 0, &kernel, &error);
    if (status == TOMBAC_OK) status = tombac_buffer_create(device, sizeof in, in, &a, &error);
    if (status == TOMBAC_OK) status = tombac_buffer_create(device, sizeof in, NULL, &b, &error);
    if (status == TOMBAC_OK) status = twice_twice(kernel, tombac_for_elements(4, 4), a, b, 4, &operation, &error);
    if (status == TOMBAC_OK) status = tombac_operation_wait(operation, -1, &error);
    if (status != TOMBAC_OK) return puts(tombac_error_message(error)), 1;
    for (int i = 0; i < 4; i++) printf("%g ", ((float *)tombac_buffer_contents(b))[i]);
    puts("");
    tombac_operation_release(operation);
    tombac_buffer_release(a);
    tombac_buffer_release(b);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
END
cat >"$work/app/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(app LANGUAGES C)
find_package(Tombac REQUIRED)
add_executable(app main.c)
tombac_add_kernels(app kernels/twice.metal INCLUDE_DIRECTORIES include ARTIFACTS artifacts)
END

in_app() { # FOLDER OPTIONS...: configures and builds
    folder=$1
    shift
    "$cmake" -S "$folder" -B "$folder/build" -G Ninja "$@" >"$work/log" 2>&1 && "$cmake" --build "$folder/build" >>"$work/log" 2>&1
}
run_app() { LD_LIBRARY_PATH="$work/prefix/$libdir" TOMBAC_CC=/nonexistent/tombac-cc "$1/build/app"; }

cp -r "$work/app" "$work/elsewhere"
in_app "$work/app" || { cat "$work/log"; fail "the project does not build"; }
[ "$(run_app "$work/app")" = "2 4 6 8 " ] || fail "wrong result: $(run_app "$work/app")"
in_app "$work/elsewhere" || fail "the copy does not build"
cmp "$work/app/artifacts/twice.tombac" "$work/elsewhere/artifacts/twice.tombac" || fail "artifacts depend on the folder"
cmp "$work/app/build/tombac_kernels/app/twice.h" "$work/elsewhere/build/tombac_kernels/app/twice.h" || fail "headers depend on the folder"

# A header that the source includes.
sleep 0.1
echo '#define FACTOR 3' >"$work/app/include/factor.h"
"$cmake" --build "$work/app/build" >/dev/null || fail "rebuilding"
[ "$(run_app "$work/app")" = "3 6 9 12 " ] || fail "a changed header was not noticed"

# Locked, with no compiler at all.
rm -rf "$work/app/build"
rm "$work/prefix/bin/tombac-cc"
in_app "$work/app" -DTOMBAC_LOCKED=ON || { cat "$work/log"; fail "a current artifact is refused"; }
[ "$(run_app "$work/app")" = "3 6 9 12 " ] || fail "wrong result in locked mode"
echo '#define FACTOR 4' >"$work/app/include/factor.h"
in_app "$work/app" -DTOMBAC_LOCKED=ON && fail "a stale artifact is taken"
grep -q "is stale: a file has changed: ../include/factor.h" "$work/log" || { cat "$work/log"; fail "the reason is missing"; }
echo '#define FACTOR 3' >"$work/app/include/factor.h"
echo '#define FACTOR 5' >"$work/app/kernels/factor.h" # found before the other
in_app "$work/app" -DTOMBAC_LOCKED=ON && fail "a new header is not noticed"
grep -q "is stale: there is a new file that its source may include: ./factor.h" "$work/log" || { cat "$work/log"; fail "the reason is missing"; }
rm "$work/app/kernels/factor.h"
sed -i 's/INCLUDE_DIRECTORIES include/& DEFINES X=1/' "$work/app/CMakeLists.txt"
in_app "$work/app" -DTOMBAC_LOCKED=ON && fail "other options are taken"
grep -q "is stale: it was made with other options" "$work/log" || { cat "$work/log"; fail "the reason is missing"; }

# Completion knows the verbs from the command itself.
[ -f "$work/prefix/share/bash-completion/completions/tombac" ] || fail "no completion"
if command -v bash >/dev/null; then
    words=$(PATH="$work/prefix/bin:$PATH" LD_LIBRARY_PATH="$work/prefix/$libdir" bash -c '. "$1"; COMP_WORDS=(tombac b); COMP_CWORD=1; _tombac; echo "${COMPREPLY[*]}"' - \
        "$work/prefix/share/bash-completion/completions/tombac")
    [ "$words" = build ] || fail "completion of 'b' gives '$words'"
fi

if command -v dpkg-deb >/dev/null && command -v cpack >/dev/null; then
    (cd "$work" && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/deb" >"$work/log" 2>&1) || { cat "$work/log"; fail "cpack"; }
    dpkg-deb -c "$work"/deb/tombac_*.deb >"$work/list"
    for file in bin/tombac bin/tombac-cc "$libdir/libtombac.so.0" include/tombac/tombac.h "$libdir/cmake/Tombac/TombacConfig.cmake" share/man/man1/tombac.1; do
        grep -q "./usr/$file" "$work/list" || fail "the Debian package lacks $file"
    done
    dpkg-deb -f "$work"/deb/tombac_*.deb Depends | grep -q libjansson || fail "the Debian package does not depend on libjansson"
fi
echo "package: right"
