#!/bin/sh
# SPDX-License-Identifier: MIT
# setup.sh <repository> <room>: `make` and `make install` install what is missing before they build, and nothing that CMake can do
# without. The tools here are stand-ins that write down how they were called; one of them, ninja, is missing.
set -eu
repository=$1
room=$2
log=$room/calls

fail() { echo "FAILED: $*" >&2; [ ! -f "$log" ] || cat "$log" >&2; exit 1; }

# stand_in <name> <status>: a tool that does nothing but say so.
stand_in() {
    printf '#!/bin/sh\necho "%s $*" >> "%s"\nexit %s\n' "$1" "$log" "$2" > "$room/bin/$1"
    chmod +x "$room/bin/$1"
}

rm -rf "$room"
mkdir -p "$room/bin" "$room/bare"
for tool in sh make sort tr sed sleep dirname rm mkdir cat grep awk nproc cut ls env head test expr uname printf; do
    path=$(command -v "$tool") || fail "$tool is missing here"
    case $path in /*) ln -s "$path" "$room/bin/$tool" ;; esac
done
for tool in cc pkg-config apt-get; do stand_in $tool 0; done
stand_in cmake 9 # where the build would begin
printf '#!/bin/sh\necho 0\n' > "$room/bin/id"
chmod +x "$room/bin/id"

for goal in all install; do
    : > "$log"
    if TMPDIR=$room PATH=$room/bin make -C "$repository" "$goal" > "$room/said" 2>&1; then fail "make $goal cannot have succeeded"; fi
    grep -q '^apt-get install .*ninja-build' "$log" || fail "make $goal does not install what is missing:" "$(cat "$room/said")"
    if grep -q '^apt-get.*systemtap' "$log"; then fail "make $goal wants systemtap-sdt-dev, which is optional"; fi
    echo "ok: make $goal installs what is missing"
done

# With nothing here at all: the whole list of what a build wants.
for tool in sh sort tr sed id dirname; do ln -s "$room/bin/$tool" "$room/bare/$tool"; done
if PATH=$room/bare "$repository/scripts/setup" --check build cli > "$room/said" 2>&1; then fail "nothing is missing on an empty machine"; fi
grep -q cmake "$room/said" || fail "the list does not have cmake: $(cat "$room/said")"
if grep -q systemtap "$room/said"; then fail "a build wants systemtap-sdt-dev, which is optional"; fi
echo "ok: a build wants nothing that is optional"
