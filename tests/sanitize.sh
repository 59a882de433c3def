#!/bin/sh
# Builds with sanitizers in a folder of its own and runs tests there.
#   sanitize.sh SOURCE FOLDER address,undefined|thread runtime|all [CMAKE-OPTION...]
# runtime: the runtime's tests with the stand-in compiler, a minute; all: every test.
set -eu
source=$1 folder=$2 sanitizers=$3 what=$4
shift 4
cmake -S "$source" -B "$folder" -G Ninja -DTOMBAC_SANITIZE="$sanitizers" "$@" >/dev/null
export ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export TSAN_OPTIONS=halt_on_error=1
if [ "$what" = all ]; then
    cmake --build "$folder" -j "$(nproc)"
    ctest --test-dir "$folder" --output-on-failure -j "$(nproc)" -E '^(sanitize|lint|docs)'
else
    names="artifact buffer bundle cache chaos contract launch library loader manifest operation prepare sequence"
    targets=""
    for name in $names; do targets="$targets test_runtime_$name"; done
    # shellcheck disable=SC2086
    cmake --build "$folder" -j "$(nproc)" --target $targets
    for name in $names; do "$folder/bin/test_runtime_$name" || exit 1; done
fi
