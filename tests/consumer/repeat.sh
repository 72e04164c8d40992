#!/bin/sh
# SPDX-License-Identifier: MIT
# repeat.sh <repository> <room>: a test that fails once has failed. Only one that judges by the clock is tried again.
set -eu
repository=$1
room=$2

fail() { echo "FAILED: $*" >&2; exit 1; }

# suite <label>: one test that fails at its first run and passes from then on.
suite() {
    rm -rf "$room"
    mkdir -p "$room"
    printf '#!/bin/sh\n[ -e "%s/was-here" ] && exit 0\n: > "%s/was-here"\nexit 1\n' "$room" "$room" > "$room/flaky"
    chmod +x "$room/flaky"
    printf 'add_test(flaky "%s/flaky")\nset_tests_properties(flaky PROPERTIES LABELS "%s")\n' "$room" "$1" > "$room/CTestTestfile.cmake"
}

for label in pool watchdog cli; do
    suite $label
    if "$repository/scripts/tests" "$room" > "$room/said" 2>&1; then fail "a test of $label that failed once has passed"; fi
    [ -e "$room/was-here" ] || fail "the test of $label did not run: $(cat "$room/said")"
done
echo "ok: a test that fails once has failed"
suite clock
"$repository/scripts/tests" "$room" > "$room/said" 2>&1 || fail "a test that judges by the clock was not run again: $(cat "$room/said")"
echo "ok: one that judges by the clock is run once more"
# Nothing else in the house repeats a test.
if grep -rn 'until-pass' "$repository/Makefile" "$repository/scripts" "$repository/.ci" "$repository/CMakePresets.json" |
    grep -v "^$repository/scripts/tests:"; then
    fail "a test is repeated elsewhere"
fi
