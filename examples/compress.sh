# SPDX-License-Identifier: MIT
# compress.sh PROGRAM [LAUNCHER...]: what it packs, gunzip unpacks to the same bytes.
set -eu
program=$1
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
i=0
while [ $i -lt 60 ]; do
    cat "$0" "$program"
    i=$((i + 1))
done | head -c 5000000 > "$folder/in"
"$@" "$program" "$folder/in" "$folder/out.gz"
gunzip -t "$folder/out.gz"
gunzip -c "$folder/out.gz" | cmp - "$folder/in"
: > "$folder/empty"
"$@" "$program" "$folder/empty" "$folder/empty.gz"
[ ! -s "$folder/empty.gz" ]
if "$@" "$program" "$folder/missing" "$folder/x" 2> /dev/null; then
    echo "a missing file was compressed" >&2
    exit 1
fi
echo "5000000 bytes became $(wc -c < "$folder/out.gz")"
