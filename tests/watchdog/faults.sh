#!/bin/sh
# SPDX-License-Identifier: MIT
# tests/watchdog/faults.sh <build folder> [rounds] [processes per core]: every fault that the watchdog has to recognise, so many times
# (default 20), beside so many processes on each core that only compute (default 0). Prints a line for each program.
set -eu
folder=$1
rounds=${2:-20}
load=${3:-0}
busy=
end() { for one in $busy; do kill "$one" 2>/dev/null || true; done; }
trap end EXIT
trap 'exit 1' INT TERM
n=$(( $(nproc) * load ))
while [ "$n" -gt 0 ]; do
    sh -c 'while :; do :; done' &
    busy="$busy $!"
    n=$(( n - 1 ))
done
failed=0
for program in all_blocked block_loop drop_wake freeze_worker growing_queue hog lose_task starve_class stop_process wait_cycle \
               returns twelve; do
    if WATCHDOG_ROUNDS=$rounds VIGIL_LOG=off "$folder/tests/watchdog/watchdog_$program" > "${TMPDIR:-/tmp}/faults.$$" 2>&1; then
        echo "right   $program"
        grep -E "from fault to verdict|worst|wrong" "${TMPDIR:-/tmp}/faults.$$" || true
    else
        echo "WRONG   $program"
        cat "${TMPDIR:-/tmp}/faults.$$"
        failed=1
    fi
    rm -f "${TMPDIR:-/tmp}/faults.$$"
done
exit $failed
