#!/bin/sh
# SPDX-License-Identifier: MIT
# readme.sh <source folder>: the first C block of the README is examples/hello.c, apart from the licence line.
set -eu
shown=$(awk '/^```c$/ { on = 1; next } /^```$/ { if (on) exit } on' "$1/README.md")
real=$(tail -n +2 "$1/examples/hello.c")
[ "$shown" = "$real" ] || { echo "README.md shows another program than examples/hello.c" >&2; exit 1; }
