#!/bin/sh
# SPDX-License-Identifier: MIT
# graceful.sh <program> [launcher...]: the example ends well when it is asked to, and loses nothing.
set -eu
program=$1
shift
room=$(mktemp -d)
trap 'rm -rf "$room"' EXIT
mkfifo "$room/out"
"$@" "$program" > "$room/out" &
pid=$!
exec 3< "$room/out"
read -r line <&3
case $line in
ready:*) ;;
*) echo "it said '$line' instead of ready" >&2; exit 1 ;;
esac
kill -TERM "${line#ready: pid }"
cat <&3
wait "$pid"
