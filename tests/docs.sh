#!/bin/sh
# The documentation of the public header has no warnings (which fail doxygen) and a page with every call; and a call without a
# word about it is a warning.
# usage: docs.sh DOXYGEN FOLDER HEADER
set -eu
"$1" "$2/Doxyfile"
page=$(ls "$2"/html/tombac_8h.html)
for name in $(sed -n 's/^TOMBAC_API [^(]*[ *]\(tombac_[a-z0-9_]*\)(.*/\1/p' "$3"); do
    grep -q "$name" "$page" || { echo "the page lacks $name" >&2; exit 1; }
    count=$((${count:-0} + 1))
done
[ "${count:-0}" -gt 80 ] || { echo "only ${count:-0} calls were found in $3" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '/** @file\n * A header. */\nvoid undocumented(void);\n' >"$work/tombac.h"
sed "s|^INPUT  *=.*|INPUT = $work/tombac.h|; s|^OUTPUT_DIRECTORY.*|OUTPUT_DIRECTORY = $work|" "$2/Doxyfile" >"$work/Doxyfile"
if "$1" "$work/Doxyfile" 2>/dev/null; then
    echo "an undocumented call is no warning" >&2
    exit 1
fi
