# SPDX-License-Identifier: MIT
"""sick.py NAME: the ways to hang of Python."""
import sys
import threading

left, right, both = threading.Lock(), threading.Lock(), threading.Barrier(2)


def cross(start, end):
    with start:
        both.wait()
        with end:
            pass


def abba():
    threads = [threading.Thread(target=cross, args=pair) for pair in ((left, right), (right, left))]
    for thread in threads:
        thread.start()
    print("ready", flush=True)
    for thread in threads:
        thread.join()


def queue():
    import queue as queues
    print("ready", flush=True)
    queues.Queue().get()


def again():
    left.acquire()
    print("ready", flush=True)
    left.acquire()


def interpreter():
    """A function of C that sleeps and keeps the interpreter's lock."""
    import ctypes
    import time
    begun = threading.Barrier(3)
    def work():
        begun.wait()
        while True:
            time.sleep(0.001)
    for _ in range(2):
        threading.Thread(target=work, daemon=True).start()
    begun.wait()
    print("ready", flush=True)
    ctypes.PyDLL(None).pause()


{"abba": abba, "queue": queue, "again": again, "interpreter": interpreter}[sys.argv[1]]()
