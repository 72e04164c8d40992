# SPDX-License-Identifier: MIT
"""Puts faults to the test programs of the project: what the checker does not model, the tests must find.

The library is built once with every fault of its rooms in it, each behind a switch, and the test programs are linked with that. A run without a fault says which
faults a program reaches; then each fault is switched on, and the programs that reach it are run, the shortest first, until one of them fails.
"""
import collections
import os
import re
import shlex
import shutil
import subprocess
import time

from fault_sites import ROOT, real
from fault_together import compiled_together

ROOMS = ("base", "record", "pool", "loop", "share", "promise")
FOLDERS = ("base", "record", "pool", "loop", "share", "promise", "faults", "reader")
LONGEST = 6  # seconds; a program that takes longer is left out
SWITCH = """#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int vg_fault_on(int number);
static int chosen;
static const char *seen_in;
static int process;
static unsigned char seen[1 << 16];
__attribute__((constructor)) static void choose(void)
{
    const char *text = getenv("VG_FAULT_ON");
    chosen = text ? atoi(text) : 0;
    seen_in = getenv("VG_FAULT_SEEN");
    process = getpid();
}
__attribute__((destructor)) static void tell(void)
{
    FILE *out = seen_in && getpid() == process ? fopen(seen_in, "w") : NULL;
    for (unsigned i = 0; out && i < sizeof seen; i++)
        if (seen[i])
            fprintf(out, "%u\\n", i);
    if (out)
        fclose(out);
}
int vg_fault_on(int number)
{
    if (seen_in)
        seen[number & 0xffff] = 1;
    return chosen == number;
}
"""


def ran(command, seconds, **environment):
    """Whether it succeeds in time."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, start_new_session=True,
                               env={**os.environ, "VIGIL_TEST_SCALE": "5", **environment})
    try:
        return process.wait(seconds) == 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        try:
            os.killpg(process.pid, 9)  # and what it has started
        except ProcessLookupError:
            pass
        process.wait()


class Tests:
    def __init__(self, release, faults, place):
        """release: the folder of a whole build, with its test programs."""
        self.release, self.place = os.path.abspath(release), os.path.join(place, "tests")
        os.makedirs(self.place)
        self.of_file = collections.defaultdict(dict)
        for name, fault in faults.items():
            if fault.path.endswith(".c"):
                self.of_file[fault.path][name] = fault
        self.numbers, self.took, self.reach = {}, {}, collections.defaultdict(list)
        archive = self.library()
        for folder in FOLDERS:
            for file in sorted(os.listdir(os.path.join(ROOT, "tests", folder))):
                if file.endswith(".c"):
                    self.program(folder + "/" + file[:-2], archive)

    def ninja(self, target):
        done = subprocess.run(["ninja", "-C", self.release, "-t", "commands", "-s", target], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        return next((line for line in reversed(done.stdout.splitlines()) if target in line), None)

    def library(self):
        words = self.ninja("src/libvigil.a").split()
        parts = [word for word in words if word.endswith(".o")]
        flags = next(word for word in (shlex.split(self.ninja(part)) for part in parts if "/pool/join.c" in part))
        flags = [word for word in flags[:flags.index("-o")] if word not in ("-Werror", "-g", "-MD", "-MT", "-MF") and not word.endswith((".o", ".d")) and "ccache" not in word]
        objects, first = [os.path.join(self.place, "switch.o")], 1
        with open(os.path.join(self.place, "switch.c"), "w") as out:
            out.write(SWITCH)
        subprocess.run([*flags, "-w", "-c", os.path.join(self.place, "switch.c"), "-o", objects[0]], check=True)
        for part in parts:
            unit = os.path.join(self.release, part[:-2])
            sources = re.findall(r'#include "(.*/src/.*\.c)"', open(unit).read()) if "/Unity/" in part else [os.path.join(ROOT, "src", part.split(".dir/")[1][:-2])]
            paths = [os.path.relpath(source, os.path.join(ROOT, "src")) for source in sources]
            if not any(path.split("/")[0] in ROOMS for path in paths):
                objects.append(os.path.join(self.release, part))
                continue
            for path in paths:
                target = os.path.join(self.place, path.replace("/", ".") + ".o")
                numbers = {}
                if path.split("/")[0] in ROOMS and self.of_file[path]:
                    numbers = compiled_together(path, self.of_file[path], self.place, target, [*flags, "-w"], first)
                    first += len(self.of_file[path])
                if not numbers:
                    subprocess.run([*flags, "-w", "-c", real(path), "-o", target], check=True)
                self.numbers.update(numbers)
                objects.append(target)
        archive = os.path.join(self.place, "libvigil.a")
        subprocess.run(["ar", "qc", archive, *objects], check=True)
        return archive

    def program(self, name, archive):
        link = self.ninja("tests/" + name)
        made = os.path.join(self.place, name.replace("/", "."))
        if link is None:
            return
        link = link.replace("src/libvigil.a", archive).replace(f"-o tests/{name} ", f"-o {made} ")
        if subprocess.run(link, shell=True, cwd=self.release, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode != 0:
            return
        began = time.monotonic()
        seen = made + ".seen"
        if not ran([made], LONGEST, VG_FAULT_SEEN=seen) or not os.path.exists(seen):
            os.unlink(made)
            return
        self.took[name] = time.monotonic() - began
        with open(seen) as file:
            for line in file:
                self.reach[int(line)].append(name)

    def judge(self, name, budget=20):
        """The test program that fails with the fault; None: none does; and how many were asked."""
        number, asked = self.numbers.get(name, 0), 0
        for test in sorted(self.reach[number], key=self.took.get) if number else ():
            made = os.path.join(self.place, test.replace("/", "."))
            if budget < 0:
                break
            budget -= self.took[test]
            asked += 1
            most = 5 + 6 * self.took[test]
            if not ran([made], most, VG_FAULT_ON=str(number)) and ran([made], most):  # and without the fault it does not fail
                return test, asked
        return None, asked

    def close(self):
        shutil.rmtree(self.place, ignore_errors=True)
