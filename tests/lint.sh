#!/bin/sh
# cppcheck over the parts that run in the user's process, and clang-tidy over the runtime; each where it is installed. Exit status 1
# with the findings. A finding that is none gets an inline suppression with its reason.
#   lint.sh SOURCE BUILD [cppcheck|tidy]
set -eu
cd "$1"
build=$2 which=${3:-both}
status=0
if [ "$which" != tidy ] && command -v cppcheck >/dev/null; then
    cppcheck --enable=warning,portability,performance --inline-suppr --std=c11 --quiet --error-exitcode=1 -j "$(nproc)" \
        --suppress=missingInclude --suppress=unknownMacro -Isrc -Iinclude --template='{file}:{line}: {severity}: {message} [{id}]' \
        src/base src/artifact src/runtime src/tool examples || status=1
fi
if [ "$which" != cppcheck ] && command -v clang-tidy-22 >/dev/null; then
    # The checks are in .clang-tidy.
    find src/base src/artifact src/runtime -name '*.c' | xargs -P "$(nproc)" -n 4 clang-tidy-22 -p "$build" --quiet 2>/dev/null || status=1
fi
exit $status
