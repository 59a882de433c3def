#!/bin/sh
# The examples of the public header, extracted, built with warnings as errors and run.
# usage: header_examples.sh HEADER LIBRARY_FOLDER CC
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
{
    printf '#include <tombac/tombac.h>\n#include <stdio.h>\n'
    sed -n '/@code/,/@endcode/{/@code\|@endcode/d;s/^ \* \{0,1\}//;p}' "$1" |
        sed -E 's/^(tombac_status|void) [a-z_]*\(/static &/'
    cat <<'END'
int main(void)
{
    float numbers[3] = {1, 2, 3};
    bool done = false;
    tombac_error *error = NULL;
    tombac_device *device = NULL;
    tombac_library *library = NULL;
    tombac_kernel *kernel = NULL;
    tombac_buffer *buffer = NULL;
    tombac_launch *launch = NULL;
    tombac_status status = tombac_device_open(NULL, &device, &error);
    if (status == TOMBAC_OK) status = twice(device, numbers, 3, &error);
    if (status == TOMBAC_OK) status = counting(device, 4, &buffer, &error);
    if (status == TOMBAC_OK) status = tombac_library_create_from_file(device, "twice.metal", NULL, &library, &error);
    if (status == TOMBAC_OK) status = tombac_kernel_create(library, "twice", NULL, 0, &kernel, &error);
    if (status == TOMBAC_OK) status = tombac_launch_create(kernel, &launch, &error);
    if (status == TOMBAC_OK) status = tombac_launch_set_buffer(launch, 0, buffer, 0, &error);
    if (status == TOMBAC_OK) status = tombac_launch_set_grid(launch, tombac_for_elements(4, 4), &error);
    if (status == TOMBAC_OK) status = repeat(launch, 3, &done, &error);
    if (status == TOMBAC_OK) status = many(device, launch, 2, &error);
    tombac_operation *ready = NULL;
    if (status == TOMBAC_OK) status = start(library, &ready, &error);
    if (status == TOMBAC_OK) status = tombac_operation_wait(ready, 60, &error);
    tombac_operation_release(ready);
    tombac_buffer *other = NULL;
    if (status == TOMBAC_OK) status = tombac_buffer_create(device, 16, NULL, &other, &error);
    if (status == TOMBAC_OK) status = hand_over(buffer, other, &error);
    tombac_device *devices[] = {device, device};
    tombac_buffer *sums[] = {buffer, other};
    if (status == TOMBAC_OK) status = add_up(devices, 2, sums, 4, &error);
    if (status != TOMBAC_OK) return fprintf(stderr, "%s\n", tombac_error_message(error)), 1;
    const float *result = tombac_buffer_contents(buffer);
    printf("%g %g %g, %d, %g %g %g %g\n", numbers[0], numbers[1], numbers[2], done, result[0], result[1], result[2], result[3]);
    tombac_launch_release(launch);
    tombac_buffer_release(buffer);
    tombac_buffer_release(other);
    tombac_kernel_release(kernel);
    tombac_library_release(library);
    tombac_device_release(device);
    return 0;
}
END
} >"$work/examples.c"
[ "$(grep -c '^static tombac_status' "$work/examples.c")" -ge 6 ]
include=$(dirname "$(dirname "$1")")
"$3" -std=c17 -Wall -Wextra -Wno-unused-parameter -Werror -I"$include" "$work/examples.c" -o "$work/examples" -L"$2" -ltombac \
    -Wl,-rpath,"$2" ${TEST_FLAGS:-}
cat >"$work/twice.metal" <<'END'
kernel void twice(device float *data [[buffer(0)]], uint i [[thread_position_in_grid]]) { data[i] *= 2; }
END
cd "$work"
out=$(TOMBAC_CACHE="$work/cache" ./examples)
[ "$out" = "1 of 1: twice
2 4 6, 1, 0 64 128 192" ] || { echo "the examples print '$out'" >&2; exit 1; }
# The header alone, as C++.
if command -v c++ >/dev/null; then
    printf '#include <tombac/tombac.h>\nint main() { return tombac_for_elements(1, 1).threads.x == 1 ? 0 : 1; }\n' >"$work/plus.cc"
    c++ -std=c++17 -Wall -Wextra -Werror -I"$include" "$work/plus.cc" -fsyntax-only
fi
