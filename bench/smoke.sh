#!/bin/sh
# SPDX-License-Identifier: MIT
# bench/smoke.sh <vigil-bench>: every peer that was built runs every bench once, at a small size, and gives its numbers.
# It checks that the benchmark works; what it measures means nothing.
set -eu
bench=$1
json=$(mktemp)
log=$(mktemp)
trap 'rm -f "$json" "$log"' EXIT

"$bench" --smoke --json "$json" > "$log" 2>&1 || { cat "$log"; echo "smoke: vigil-bench failed"; exit 1; }
# A peer may decline a size that it cannot do, in its own words; these are the words of a failure.
if grep -E 'no number: (failed|it (died|did|printed)|no |this peer)' "$log"; then
    echo "smoke: a peer failed, see above"
    exit 1
fi
for word in pool-submit pool-spawn pool-wake pool-idle pool-scale pool-crowd pool-short pool-short-spawned pool-cost parallel-skew parallel-dag; do
    grep -q "\"bench\": \"$word\", \"peer\": \"\(vigil\|counted\)\"" "$json" ||
        { cat "$log"; echo "smoke: no numbers of ours for $word in the JSON"; exit 1; }
done
if command -v python3 > /dev/null; then
    python3 -c 'import json, sys; assert len(json.load(open(sys.argv[1]))) > 6' "$json" ||
        { echo "smoke: the JSON does not parse"; exit 1; }
fi
for word in --only=pool '--only nothing' '--reps 0' '--json'; do
    # shellcheck disable=SC2086 -- two words
    if "$bench" $word > "$log" 2>&1; then
        echo "smoke: vigil-bench accepts '$word'"
        exit 1
    fi
done
