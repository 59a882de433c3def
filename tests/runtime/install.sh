#!/bin/sh
# `cmake --install` into a prefix that is then moved: a program finds header and library by pkg-config, runs, and finds tombac-cc by
# its place beside the library.
# usage: install.sh CMAKE BUILD CC FAKE_CC LIBDIR
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" --install "$2" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
export PKG_CONFIG_PATH="$work/prefix/$5/pkgconfig"
cat >"$work/main.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <tombac/tombac.h>
int main(void)
{
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_error *error = NULL;
    printf("version %s\n", tombac_version());
    if (tombac_device_count() == 0) return puts("no device"), 0;
    if (tombac_device_open(NULL, &device, &error) != TOMBAC_OK) return puts(tombac_error_message(error)), 1;
    static const char source[] = "kernel k\n";
    tombac_compile_options options = {.no_cache = true};
    if (tombac_library_create_from_source(device, NULL, source, strlen(source), &options, &library, &error) != TOMBAC_OK) {
        puts(tombac_error_message(error));
        tombac_error_release(error);
        tombac_device_release(device);
        return 1;
    }
    printf("kernel %s\n", tombac_library_kernel_name(library, 0));
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
END
# shellcheck disable=SC2046
"$3" -o "$work/main" "$work/main.c" $(pkg-config --cflags --libs tombac) ${TEST_FLAGS:-}
cp "$4" "$work/prefix/bin/tombac-cc" 2>/dev/null || { mkdir -p "$work/prefix/bin" && cp "$4" "$work/prefix/bin/tombac-cc"; }
unset TOMBAC_CC
export TOMBAC_CC_MEMORY=0
out=$(cd / && LD_LIBRARY_PATH="$work/prefix/$5" "$work/main")
echo "$out"
echo "$out" | grep -q "^version $(pkg-config --modversion tombac)\$"
echo "$out" | grep -q '^kernel k$' || echo "$out" | grep -q '^no device$'
# With no compiler in the prefix, the message says so.
rm "$work/prefix/bin/tombac-cc"
if out=$(cd / && PATH=/nonexistent LD_LIBRARY_PATH="$work/prefix/$5" "$work/main"); then
    echo "$out" | grep -q '^no device$'
else
    echo "$out" | grep -q "the compiler 'tombac-cc' is not installed"
fi
