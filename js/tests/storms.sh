#!/bin/sh
# SPDX-License-Identifier: MIT
# storms.sh PROGRAM: callbacks and checkpoints that never end are served, named and, on request, ended.
set -u
program=$1
failed=0
# expect STATUS PATTERN WHAT...: the program's status, and a line of its output.
expect() {
    status=$1 pattern=$2
    shift 2
    output=$(timeout 120 "$program" "$@" 2>&1)
    got=$?
    if [ $got != "$status" ] || ! printf '%s\n' "$output" | grep -q "$pattern"; then
        printf 'storms: status %s (wanted %s), looking for "%s" in:\n%s\n' $got "$status" "$pattern" "$output"
        failed=1
    fi
}
served='let n = 0; setInterval(() => { if (++n === 3) process.exit(42); }, 60);'
expect 42 '' -e "$served (async function storm() { for (;;) await 1; })()"
expect 42 '' -e "$served (function storm() { process.nextTick(storm); })()"
expect 42 '' -e "require('fs').stat('/', () => process.exit(42)); (async function storm() { for (;;) await 1; })()"
expect 0 'spin() at \[eval\]:1; ended' --stall 200 --end-stalls -e 'setTimeout(function () { function spin() { for (;;); } spin(); }, 1)'
expect 0 'after' --stall 200 --end-stalls -e 'setTimeout(function () { for (;;); }, 1); setTimeout(() => console.log("after"), 2)'
expect 0 'promises or ticks that never end.*; ended' --stall 1000 --end-stalls -e '(async function storm() { for (;;) await 1; })()'
expect 0 'promises or ticks that never end.*; ended' --stall 1000 --end-stalls -e '(function storm() { process.nextTick(storm); })()'
expect 0 'after' --stall 200 --end-stalls -e 'setImmediate(() => { for (;;); }); setImmediate(() => console.log("after"))'
expect 7 '' -e 'try { process.exit(7); } finally { for (;;); }'

# An idle program is idle, also after its limit has run out: none of its threads runs. The engine's own threads take a while to go to
# sleep, so a quiet second is waited for, and must come.
"$program" -e 'const until = Date.now() + 200; while (Date.now() < until); setTimeout(() => {}, 1e6)' &
idle=$!
switches() {
    awk '/ctxt_switches/ { sum += $2 } END { print sum }' /proc/$idle/task/*/status
}
before=-1 after=0 seconds=0
while [ "$before" != "$after" ] && [ $seconds -lt 60 ]; do
    before=$(switches)
    sleep 1
    after=$(switches)
    seconds=$((seconds + 1))
done
if [ "$before" != "$after" ]; then
    printf 'storms: an idle program has %s switches in a second\n' $((after - before))
    failed=1
fi
kill $idle
exit $failed
