#!/bin/sh
# SPDX-License-Identifier: MIT
# module_cache.sh PROGRAM: rewritten modules on disk: kept, taken, refused when they are damaged or not ours, bounded, and switched off.
set -u
program=$1
here=$(cd "$(dirname "$0")" && pwd)
failed=0
check() { # name, expected, got
    [ "$2" = "$3" ] && return
    echo "$1: expected '$2', got '$3'"
    failed=1
}
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
unset VIGIL_MODULE_CACHE
export XDG_CACHE_HOME="$home/cache" HOME="$home"
kept="$home/cache/vigil/modules"
main="$home/main.mjs"
echo "console.log('true')" > "$main"
run() {
    "$program" "$@" "$main" 2>&1
}
entry() {
    echo "$kept/$(ls "$kept")"
}
# An entry that says something else, with the digest that belongs to it: it shows whether entries are taken.
forge() {
    file=$(entry)
    tail -n +2 "$file" | sed 's/true/forged/' > "$home/body"
    sum=$({ printf %s "$(basename "$file")"; cat "$home/body"; } | sha256sum | cut -d ' ' -f 1)
    { echo "vigil module 1 $sum"; cat "$home/body"; } > "$home/forged"
    cat "$home/forged" > "$file"
}

check 'first run' true "$(run)"
check 'one entry' 1 "$(find "$kept" -type f | wc -l | tr -d ' ')"
check 'modes' "700 700 600" "$(stat -c %a "$home/cache/vigil" "$kept" "$(entry)" | tr '\n' ' ' | sed 's/ $//')"
check 'second run' true "$(run)"
forge
check 'an entry is taken' forged "$(run)"
check 'the option' true "$(run --no-module-cache)"
check 'the variable' true "$(VIGIL_MODULE_CACHE=off run)"
check 'a limit of nothing' true "$(VIGIL_MODULE_CACHE=0 run)"
cp "$main" "$home/other.mjs"
echo "console.log('another')" >> "$main"
check 'another text' "true
another" "$(run)"
cp "$home/other.mjs" "$main"

# Damage of every kind is noticed, and the entry made anew.
rm -f "$kept"/*
run > /dev/null
cp "$(entry)" "$home/good"
for size in 0 1 14 79 80 81 100; do
    forge
    truncate -s "$size" "$(entry)"
    check "truncated to $size" true "$(run)"
    check "made anew after $size" "" "$(cmp "$home/good" "$(entry)" 2>&1)"
done
forge
printf x >> "$(entry)"
check 'something behind it' true "$(run)"
forge
sed -i 's/forged/forgot/' "$(entry)"
check 'another content' true "$(run)"
forge
mv "$(entry)" "$home/moved"
echo "console.log('other')" > "$main"
run > /dev/null
cat "$home/moved" > "$(entry)"
check 'under another name' other "$(run)"
cp "$home/other.mjs" "$main"
rm -f "$kept"/*
run > /dev/null

# What others may write, or have written, is not taken.
forge
chmod 620 "$(entry)"
check 'an entry that the group may write' true "$(run)"
check 'its mode' 600 "$(stat -c %a "$(entry)")"
forge
cp "$(entry)" "$home/forged"
name=$(basename "$(entry)")
rm -f "$(entry)"
ln -s "$home/forged" "$kept/$name"
check 'an entry that is a link' true "$(run)"
rm -f "$kept/$name"
mkfifo "$kept/$name"
check 'an entry that is a pipe' true "$(run)"
rm -f "$kept/$name"
run > /dev/null
forge
for folder in "$kept" "$home/cache/vigil"; do
    for mode in 770 707 777; do
        chmod "$mode" "$folder"
        check "a folder of mode $mode" true "$(run)"
    done
    chmod 700 "$folder"
done
check 'the folders again' forged "$(run)"
mv "$kept" "$home/elsewhere"
ln -s "$home/elsewhere" "$kept"
check 'a folder that is a link' true "$(run)"
rm "$kept"
mv "$home/elsewhere" "$kept"
if [ "$(id -u)" = 0 ]; then
    chown 65534 "$(entry)"
    check "another user's entry" true "$(run)"
    forge
    chown 65534 "$kept"
    check "another user's folder" true "$(run)"
    chown 0 "$kept"
fi

# Nobody is told when there is no place for it.
check 'no home' true "$(unset HOME XDG_CACHE_HOME; run)"
check 'a home that is not there' true "$(unset XDG_CACHE_HOME; HOME="$home/none" run)"
check 'it was not made' "" "$(ls -d "$home/none" 2> /dev/null)"
check 'a folder that is not absolute' true "$(cd "$home" && HOME='' XDG_CACHE_HOME=relative run)"
check 'it was not made either' "" "$(ls -d "$home/relative" 2> /dev/null)"
check 'a home without a cache' true "$(unset XDG_CACHE_HOME; run)"
check 'made in the home' 1 "$(find "$home/.cache/vigil/modules" -type f | wc -l | tr -d ' ')"

# The size is bounded: what was used longest ago goes, and what a writer left behind goes too.
rm -f "$kept"/*
for i in 10 11 12 13 14 15 16 17; do
    old="$kept/${i}0000000000000000000000000000000000000000000000000000000000000a"
    head -c 262144 /dev/zero > "$old"
    touch -d "20$i-01-01" "$old"
done
echo left > "$kept/.1.left.0"
touch -d 2010-01-01 "$kept/.1.left.0"
check 'a run that writes' true "$(VIGIL_MODULE_CACHE=1 run)"
check 'what is left' "16 17" "$(find "$kept" -name '*0a' | sed 's|.*/\(..\)0*a|\1|' | sort | tr '\n' ' ' | sed 's/ $//')"
check 'what was left behind' "" "$(ls "$kept/.1.left.0" 2> /dev/null)"

# Many at once write the same entries.
rm -f "$kept"/*
for i in 1 2 3 4 5 6 7 8; do
    run > "$home/out$i" &
done
wait
check 'eight at once' "true true true true true true true true" "$(cat "$home"/out? | tr '\n' ' ' | sed 's/ $//')"
check 'one entry of them' 1 "$(find "$kept" -type f | wc -l | tr -d ' ')"

# What was stripped of its types is kept too, and whether it is a module.
main="$home/main.ts"
for text in "const a: string = 'a script'; console.log(a, typeof module)" "export const a: string = 'a module'; console.log(a, typeof module)"; do
    rm -f "$kept"/*
    echo "$text" > "$main"
    first=$(run --no-module-cache)
    case $first in
        *lacks*) break ;; # a build without TypeScript
    esac
    check "not kept: $text" "$first" "$(run)"
    check "kept: $text" "$first" "$(run)"
    sed -i "s/'a /'another /" "$main"
    check "changed: $text" "$(echo "$first" | sed 's/^a /another /')" "$(run)"
done

# Modules of every shape mean the same when they come from the cache.
cd "$here/library" || exit 2
for round in written taken; do
    for file in modules.mjs linking.mjs cycle.mjs no_semicolons.mjs await_places.mjs; do
        { "$program" "$file" 2> /dev/null; echo "status $?"; } > "$home/out"
        check "$file, $round" "" "$(diff "$file.out" "$home/out")"
    done
done
exit $failed
