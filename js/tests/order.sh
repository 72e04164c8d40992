#!/bin/sh
# SPDX-License-Identifier: MIT
# order.sh PROGRAM FOLDER [write NODE]: runs each FOLDER/*.js (and .mjs) with PROGRAM and compares standard output and exit status with
# the .out file beside it, which Node 20 has written, or a newer Node where the script says so ("write" makes them anew).
set -u
program=$1
folder=$2
failed=0
cd "$folder" || exit 2
for file in *.js *.mjs; do
    [ -f "$file" ] || continue
    if [ "${3:-}" = write ]; then
        { "$4" "$file" 2> /dev/null; echo "status $?"; } > "$file.out"
        continue
    fi
    { timeout 600 "$program" "$file" 2> "${TMPDIR:-/tmp}/vigil-js-$$.err"; echo "status $?"; } > "${TMPDIR:-/tmp}/vigil-js-$$.out"
    if ! diff -u "$file.out" "${TMPDIR:-/tmp}/vigil-js-$$.out"; then
        echo "not as Node: $folder/$file; standard error was:"
        head -20 "${TMPDIR:-/tmp}/vigil-js-$$.err"
        failed=1
    fi
done
rm -f "${TMPDIR:-/tmp}/vigil-js-$$.out" "${TMPDIR:-/tmp}/vigil-js-$$.err"
exit $failed
