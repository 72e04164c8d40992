#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs that were put together by hand, so that the checker cannot see a part of them, do not pass.

    unseen.py CHECK BUILD      the folder check/ of the sources, and the folder in which it was built
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

check, build = (os.path.abspath(path) for path in sys.argv[1:3])
RACE = """#include <vigil_check.h>
int data;
static void *writer(void *arg) { data = 1; return arg; }
VGC_SCENARIO(race, "found") { pthread_t t; pthread_create(&t, 0, writer, 0); data = 2; pthread_join(t, 0); }
"""
RACE_CPP = """#include <vigil_check.h>
#include <thread>
int data;
VGC_SCENARIO(race, "found") { std::thread t([] { data = 1; }); data = 2; t.join(); }
"""

with tempfile.TemporaryDirectory() as place:
    subprocess.run(["cmake", "--install", build, "--prefix", place, "--component", "vigil-check"], check=True, stdout=subprocess.DEVNULL)
    command = open(os.path.join(place, "bin/vigil-check-cc")).read()
    compiling = re.search(r'\$standard (-f.*) \$quiet', command).group(1).split()
    linking = re.search(r'-no-pie \$static (.*) -o', command).group(1).split()
    library = next(os.path.join(folder, name) for folder, _, names in os.walk(place) for name in names if name == "libvigil-check.a")

    def verdict(name, compiler, source, flags, links):
        path = os.path.join(place, "program.cpp" if compiler == "c++" else "program.c")
        with open(path, "w") as out:
            out.write(source)
        base = [compiler, "-std=gnu++20" if compiler == "c++" else "-std=gnu17", "-w", "-I" + os.path.join(place, "include"), "-no-pie", "-fno-pie"]
        subprocess.run([*base, *flags, "-c", "-o", path + ".o", path], check=True)
        subprocess.run([compiler, "-no-pie", *links, "-o", path + ".program", path + ".o", library, "-pthread"], check=True)
        done = subprocess.run([path + ".program"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
        assert done.returncode == 1, f"{name}: exit {done.returncode}\n{done.stdout}"
        return re.search(r"^race .*\d  (\S.*?)  <-- NOT AS EXPECTED", done.stdout, re.M).group(1), done.stdout

    def expect(what, text, name, *how):
        found, printed = verdict(name, *how)
        assert found == what and text in printed, f"{name}: {found} instead of {what}\n{printed}"

    expect("data race", "", "as it must be", "cc", RACE, compiling, linking)
    expect("misuse", "-fsanitize=thread", "not instrumented", "cc", RACE, ["-O1"], linking)
    expect("misuse", "is not taken over", "calls not taken over", "cc", RACE, compiling, [word for word in linking if not word.endswith("=pthread_create")])
    if shutil.which("c++"):
        expect("data race", "", "C++ as it must be", "c++", RACE_CPP, compiling, [*linking, "-static-libstdc++", "-static-libgcc"])
        expect("misuse", "-static-libstdc++", "the shared run time of C++", "c++", RACE_CPP, compiling, linking)
print("unseen: ok")
