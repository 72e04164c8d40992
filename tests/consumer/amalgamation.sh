#!/bin/sh
# SPDX-License-Identifier: MIT
# amalgamation.sh <source folder> <work folder> <cc> <c++>: `make amalgamation`, then the one line that users type, without a
# warning, as C17; the same file linked into a C++20 program on vigil.hpp (not optimised: what counts there is that it links).
set -eu
source=$1 work=$2 cc=$3 cxx=$4

rm -rf "$work"
"$source/scripts/amalgamate" "$work"
cd "$work"
"$cc" -std=gnu17 -O2 -Wall -Wextra -Werror -pthread vigil.c hello.c -o hello
[ "$(./hello)" = "hello, world" ] || { echo "amalgamation: hello does not say hello, world" >&2; exit 1; }

cat > hello.cpp << EOF
#include "vigil.hpp"

#include <cstdio>

int main()
{
    vigil::pool pool;
    return std::puts(pool.call([] { return 6 * 7; }).get() == 42 ? "hello, C++" : "no") < 0;
}
EOF
"$cc" -std=gnu17 -O0 -Wall -Wextra -Werror -pthread -c vigil.c
"$cxx" -std=c++20 -Wall -Wextra -Werror -pthread hello.cpp vigil.o -o hello-cpp
[ "$(./hello-cpp)" = "hello, C++" ] || { echo "amalgamation: the C++ program does not say hello, C++" >&2; exit 1; }
echo "amalgamation: built and run with $cc and $cxx"
