#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A hostile patient: garbage in its locks and stacks, and program files whose tables are damaged at random places.

DOCTOR_ROUNDS says how often (2 each by default), DOCTOR_SEED where to begin. Each round prints nothing unless it fails; then the seed."""
import json
import os
import random
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import time

VIGIL = os.environ["VIGIL"]
BIN = os.environ["DOCTOR_CORPUS"]
ROUNDS = int(os.environ.get("DOCTOR_ROUNDS", 2))
SEED = int(os.environ.get("DOCTOR_SEED", time.time_ns() % 1000000))
LIMIT = 120  # seconds; the doctor itself gives up on stacks after 8 s of processor time


def start(*words):
    patient = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                               start_new_session=True)
    for line in patient.stdout:
        if line.startswith("ready"):
            return patient
    raise AssertionError(f"{words} ended")


def end(patient):
    try:
        os.killpg(patient.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    patient.communicate()


def examine(patient, seed, what):
    began = time.monotonic()
    done = subprocess.run([VIGIL, "doctor", "--json", str(patient.pid)], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode not in (0, 3):
        sys.exit(f"{what}, seed {seed}: status {done.returncode}, {done.stderr}")
    text = subprocess.run([VIGIL, "doctor", "--all", str(patient.pid)], capture_output=True, timeout=LIMIT).stdout
    if any(byte < 32 and byte != 10 for byte in text):
        sys.exit(f"{what}, seed {seed}: control characters reached the terminal")
    return json.loads(done.stdout), time.monotonic() - began


def sections(data):
    """(name, offset, size) of the sections of an ELF file."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    heads = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    for name, _, _, _, at, length in heads:
        begin = heads[names][4] + name
        yield data[begin:data.index(b"\0", begin)].decode(), at, length


def damage(data, seed):
    """Everything that only a debugger reads: the program runs as before."""
    chance = random.Random(seed)
    out = bytearray(data)
    for name, at, length in sections(data):
        if not length or not (name.startswith(".debug_") or name in (".eh_frame", ".symtab", ".strtab", ".note.gnu.build-id")):
            continue
        for _ in range(1 + length // chance.choice((20, 200, 2000))):
            place = at + chance.randrange(length)
            out[place] = chance.choice((0, 0xFF, 0x80, 0x7F, chance.randrange(256)))
    if chance.random() < 0.3:  # the table of sections itself
        offset, = struct.unpack_from("<Q", data, 40)
        for _ in range(8):
            out[offset + chance.randrange(len(data) - offset)] = chance.randrange(256)
    return bytes(out)


def main():
    with open(os.path.join(BIN, "sick"), "rb") as file:
        whole = file.read()
    for seed in range(SEED, SEED + ROUNDS):
        patient = start(os.path.join(BIN, "hostile"), str(seed))
        try:
            examine(patient, seed, "garbage in locks")
        finally:
            end(patient)
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "damaged")
            with open(program, "wb") as file:
                file.write(damage(whole, seed))
            os.chmod(program, stat.S_IRWXU)
            patient = start(program, "abba")
            try:
                found, _ = examine(patient, seed, "damaged file")
                for _ in range(5):  # it may not have been asleep yet
                    if found["findings"]:
                        break
                    found, _ = examine(patient, seed, "damaged file")
                # The locks do not depend on names.
                if not any(f["kind"] == "deadlock" for f in found["findings"]):
                    sys.exit(f"damaged file, seed {seed}: no deadlock but {found['findings']}")
                # Truncated while it is looked at.
                os.truncate(program, len(whole) // 3) if seed % 2 else os.unlink(program)
            except OSError:
                pass  # "text file busy"
            finally:
                end(patient)
    print(f"{ROUNDS} rounds from seed {SEED}")


main()
