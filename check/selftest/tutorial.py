#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The tutorial, followed to the letter: installs the checker into an empty folder, makes the files of TUTORIAL.md, and sees that the bug is
found, that the mended version passes, and that each fence alone is not enough.

    tutorial.py CHECK BUILD      the folder check/ of the sources, and the folder in which it was built
"""
import os
import re
import subprocess
import sys
import tempfile

check, build = (os.path.abspath(path) for path in sys.argv[1:3])
text = open(os.path.join(check, "TUTORIAL.md")).read()
files = dict(re.findall(r"```c file=(\S+)\n(.*?)```", text, re.S))
fence = re.search(r"```c part\n(.*?)```", text, re.S).group(1)
assert set(files) == {"mailbox.h", "mailbox_check.c"}, files.keys()

with tempfile.TemporaryDirectory() as place:
    subprocess.run(["cmake", "--install", build, "--prefix", place, "--component", "vigil-check"], check=True,
                   stdout=subprocess.DEVNULL)
    command = os.path.join(place, "bin", "vigil-check-cc")
    put = "    atomic_store_explicit(&letter, value, memory_order_release);\n"
    get = "        atomic_store_explicit(&asleep, 1, memory_order_release);\n"
    plain = files["mailbox.h"]
    assert plain.count(put) == 1 and plain.count(get) == 1
    variants = {
        "as it is": (plain, 1, "deadlock"),
        "fence in put only": (plain.replace(put, put + fence), 1, "deadlock"),
        "fence in get only": (plain.replace(get, get + fence), 1, "deadlock"),
        "mended": (plain.replace(put, put + fence).replace(get, get + fence), 0, "pass"),
    }
    for name, (header, status, verdict) in variants.items():
        with open(os.path.join(place, "mailbox.h"), "w") as out:
            out.write(header)
        with open(os.path.join(place, "mailbox_check.c"), "w") as out:
            out.write(files["mailbox_check.c"])
        subprocess.run([command, "-o", "mailbox_check", "mailbox_check.c"], cwd=place, check=True)
        done = subprocess.run(["./mailbox_check"], cwd=place, stdout=subprocess.PIPE, universal_newlines=True)
        assert done.returncode == status and verdict in done.stdout, f"{name}: {done.returncode}\n{done.stdout}"
        print(f"{name}: {verdict}")
    # The same by way of pkg-config, in two commands.
    def flags(what):
        asked = subprocess.run(["pkg-config", what, "vigil-check"], stdout=subprocess.PIPE, universal_newlines=True,
                               env={**os.environ, "PKG_CONFIG_PATH": os.path.join(place, "lib", "pkgconfig")}, check=True)
        return asked.stdout.strip()

    subprocess.run(f"cc -std=gnu17 -Wno-tsan -c mailbox_check.c {flags('--cflags')} && cc -o other mailbox_check.o {flags('--libs')} "
                   "&& ./other > /dev/null", cwd=place, shell=True, check=True)
    print("pkg-config: pass")
print("1 passed, 0 failed")
