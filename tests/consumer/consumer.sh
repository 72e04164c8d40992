#!/bin/sh
# SPDX-License-Identifier: MIT
# Uses the library as a stranger would: from an installed prefix, outside the source tree.
# BUILD is the build to install, ROOM a folder of our own; CC, CXX, CMAKE and PKG_CONFIG are the tools.
# shellcheck disable=SC2086,SC2044
set -eu

here=$(cd "$(dirname "$0")" && pwd)
prefix=$ROOM/prefix
strict="-Wall -Wextra -Wpedantic -Werror"

say() { printf '%s\n' "$*"; }
fail() { say "FAILED: $*" >&2; exit 1; }
library() { find "$prefix" -name "$1" | head -n 1; }

# must_print <expected> <program...>: the consumer says which version it runs with, and how many tasks ran.
must_print() {
    expected=$1
    shift
    answer=$("$@") || fail "$* ended with status $?"
    [ "$answer" = "$expected" ] || fail "$* printed '$answer' instead of '$expected'"
    say "ok: $*"
}

version() { $PKG_CONFIG --modversion vigil; }

use_prefix() {
    PKG_CONFIG_PATH=$(dirname "$(library vigil.pc)")
    LD_LIBRARY_PATH=$(dirname "$(library libvigil.so)")
    export PKG_CONFIG_PATH LD_LIBRARY_PATH
}

install_into_prefix() {
    rm -rf "$ROOM"
    mkdir -p "$ROOM"
    "$CMAKE" --install "$BUILD" --prefix "$prefix"
    for file in libvigil.so libvigil.so.0.2 libvigil.a vigil.pc vigil-config.cmake vigil.h version.h; do
        [ -n "$(library "$file")" ] || fail "$file was not installed"
    done
    # The header of a library comes with the library alone.
    [ -n "$(library libvigil-js.so)" ] || [ -z "$(library js.h)" ] || fail "js.h was installed without its library"
    # Another place than the one configured: nothing installed may remember where it was built.
    for file in $(find "$prefix" -name '*.pc' -o -name '*.cmake' -o -name '*.h'); do
        if grep -n -F "$BUILD" "$file"; then fail "$file names the build folder"; fi
    done
}

# Each public header alone, in both languages.
headers() {
    for header in "$prefix"/include/vigil/*.h; do
        name=$(basename "$header")
        printf '#include <vigil/%s>\nint the_unit_is_not_empty;\n' "$name" > "$ROOM/one.c"
        $CC -std=c17 $strict -I"$prefix/include" -c "$ROOM/one.c" -o "$ROOM/one.o" || fail "$name does not compile alone as C17"
        $CXX -x c++ -std=c++17 $strict -I"$prefix/include" -c "$ROOM/one.c" -o "$ROOM/one.o" ||
            fail "$name does not compile alone as C++17"
        say "ok: $name as C17 and as C++17"
    done
    echo '#include <coroutine>' > "$ROOM/one.cpp"
    if ! $CXX -std=c++20 -c "$ROOM/one.cpp" -o "$ROOM/one.o" 2> /dev/null; then
        say "left out: the C++ headers, because $CXX knows no C++20 coroutines"
        return
    fi
    for header in "$prefix"/include/vigil/*.hpp; do
        name=$(basename "$header")
        printf '#include <vigil/%s>\nint the_unit_is_not_empty;\n' "$name" > "$ROOM/one.cpp"
        $CXX -std=c++20 $strict -I"$prefix/include" -c "$ROOM/one.cpp" -o "$ROOM/one.o" ||
            fail "$name does not compile alone as C++20"
        say "ok: $name as C++20"
    done
}

# libvigil.so shows exactly the functions that the headers promise, and needs libc alone.
symbols() {
    so=$(library libvigil.so)
    nm -D --defined-only "$so" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u > "$ROOM/exported"
    if grep -v '^vigil_' "$ROOM/exported"; then fail "libvigil.so exports names that do not begin with vigil_"; fi

    # What the compiler sees as declared in our headers, whatever the layout of the text.
    # js.h, jobs.h, http.h, tls.h and dns.h are the manuals of other libraries.
    for header in "$prefix"/include/vigil/*.h; do printf '#include <vigil/%s>\n' "$(basename "$header")"; done |
        grep -v -e '/js\.h>' -e '/jobs\.h>' -e '/http\.h>' -e '/tls\.h>' -e '/dns\.h>' > "$ROOM/all.c"
    $CC -std=c17 -I"$prefix/include" -fsyntax-only -aux-info "$ROOM/declared.txt" "$ROOM/all.c"
    grep -F "$prefix/include/vigil/" "$ROOM/declared.txt" | grep -v '/\* .*\*/ *static ' |
        sed -n 's/^[^(]*[ *]\(vigil_[a-z0-9_]*\) (.*/\1/p' > "$ROOM/functions"
    [ -s "$ROOM/functions" ] || fail "found no declared function; this test is broken"
    # Variables, which -aux-info does not list: what inline functions use.
    sed -n 's/^extern VIGIL_API __thread .*[ *]\(vigil_[a-z0-9_]*\)\( __attribute__.*\)\{0,1\}$/\1/p' "$prefix"/include/vigil/*.h |
        sort -u - "$ROOM/functions" > "$ROOM/declared"
    missing=$(comm -23 "$ROOM/declared" "$ROOM/exported")
    [ -z "$missing" ] || fail "declared in a header but not exported:" $missing
    secret=$(comm -13 "$ROOM/declared" "$ROOM/exported")
    [ -z "$secret" ] || fail "exported but in no header:" $secret

    needed=$(readelf -d "$so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v -e '^libc\.so' -e '^ld-linux' || true)
    [ -z "$needed" ] || fail "libvigil.so needs more than libc:" $needed
    readelf -d "$so" | grep -q 'SONAME.*libvigil\.so\.0\.2\]' || fail "libvigil.so does not call itself libvigil.so.0.2"
    say "ok: $(wc -l < "$ROOM/exported") functions, all declared; libc alone"
}

# Shared and static, C and C++, with the flags that pkg-config gives.
with_pkg_config() {
    expected="$(version) 100"
    cp "$here/consumer.c" "$ROOM/consumer.c"
    cd "$ROOM"
    flags=$($PKG_CONFIG --cflags vigil)
    shared=$($PKG_CONFIG --libs vigil)
    static=$($PKG_CONFIG --libs --static vigil)
    $CC -std=c17 $strict $flags consumer.c -o c-shared $shared
    $CXX -x c++ -std=c++17 $strict $flags consumer.c -o cxx-shared $shared
    $CC -std=c17 $strict $flags consumer.c -o c-static -static $static
    $CXX -x c++ -std=c++17 $strict $flags consumer.c -o cxx-static -static $static
    for program in c-shared cxx-shared c-static cxx-static; do must_print "$expected" "./$program"; done
}

with_cmake() {
    expected="$(version) 100"
    rm -rf "$ROOM/project"
    mkdir -p "$ROOM/project"
    cp "$here/consumer.c" "$ROOM/project/consumer.c"
    cp "$here/consumer.c" "$ROOM/project/consumer.cpp"
    cp "$here/project.cmake" "$ROOM/project/CMakeLists.txt"
    "$CMAKE" -S "$ROOM/project" -B "$ROOM/project/build" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_C_FLAGS="$strict" -DCMAKE_CXX_FLAGS="$strict"
    "$CMAKE" --build "$ROOM/project/build"
    unset LD_LIBRARY_PATH
    for program in c-shared cxx-shared c-static cxx-static; do
        must_print "$expected" "$ROOM/project/build/$program"
    done
}

# The JavaScript host, which is a library of its own: an example, with nothing but what was installed.
with_js() {
    cp "$here/../../examples/js_host.c" "$ROOM/js_host.c"
    cd "$ROOM"
    $CC -std=gnu17 js_host.c -o js-host $($PKG_CONFIG --cflags --libs vigil-js)
    ./js-host | grep -q '78498' || fail "the JavaScript example did not count"
    say "ok: ./js-host"
}

case $1 in
install) install_into_prefix ;;
headers) headers ;;
symbols) symbols ;;
pkg-config) use_prefix; with_pkg_config ;;
cmake) use_prefix; with_cmake ;;
js) use_prefix; with_js ;;
*) fail "no such step: $1" ;;
esac
