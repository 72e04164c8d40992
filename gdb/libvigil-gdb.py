# SPDX-License-Identifier: MIT
"""gdb commands for programs that use Vigil, on a live process and on a core.

    (gdb) source .../libvigil-gdb.py
    (gdb) vigil workers [POOL]    what each worker does, since when, and what it waits for
    (gdb) vigil queues [POOL]     what is queued where, and the state of the idle protocol
    (gdb) vigil loops             the loops, their phase and their callback

POOL is a name or an address. The commands need the library's debug information. States and counters are in the
recorder's file, which a crashed process leaves behind: for a core they are shown while that file exists. Queues are
always shown.
"""

import gdb

CLASSES = ["CRITICAL", "HIGH", "NORMAL", "LOW", "IDLE"]
STATES = ["unused", "starting", "running", "looking", "stealing", "spinning", "parked", "blocked", "stopping", "stopped"]
WAITS = ["", "work", "declared", "group", "job", "idle pool", "room", "events", "lock", "signal", "channel",
         "promise"]
LOOP_STATES = ["awake", "running", "sleeping", "terminating", "terminated"]
PHASES = ["-", "internal", "posts", "timers", "prepare", "io", "check", "immediates", "close"]
MOST_LISTED = 100000  # bound on the links followed in one list


class Unreadable(Exception):
    pass


def number(value):
    """The value as an integer; works for atomics and enums."""
    try:
        return int(value.cast(gdb.lookup_type("unsigned long long")))
    except gdb.MemoryError as error:
        raise Unreadable(str(error)) from error


def signed(value):
    got = number(value)
    return got - (1 << 64) if got >= 1 << 63 else got


def known(read, otherwise="?"):
    try:
        return read()
    except (Unreadable, gdb.MemoryError, gdb.error):
        return otherwise


def symbol(address):
    if address == 0:
        return "-"
    text = gdb.execute("info symbol 0x%x" % address, to_string=True).strip()
    return "0x%x" % address if text.startswith("No symbol") else text.split(" in section ")[0]


def subjects():
    """The library's own list of pools and loops (src/record/subject.c)."""
    try:
        registry = gdb.parse_and_eval("'subject.c'::subject_registry")
    except gdb.error as error:
        raise gdb.GdbError(
            "vigil: the library's list of pools was not found (%s). Is libvigil loaded, and is its debug information installed?"
            % error
        )
    at = registry["first"]
    found = []
    while number(at) != 0 and len(found) < MOST_LISTED:
        found.append(at.dereference())
        at = at["next"]
    return found


def pools(wanted):
    kind = gdb.lookup_type("struct vigil_pool").pointer()
    for subject in subjects():
        if number(subject["calls"]["pool"]) == 0:
            continue
        pool = subject["object"].cast(kind)
        if wanted and wanted != pool["name"].string() and wanted != "0x%x" % number(pool):
            continue
        yield pool


def loops():
    kind = gdb.lookup_type("struct vigil_loop").pointer()
    for subject in subjects():
        if number(subject["calls"]["pool"]) == 0:
            yield subject["object"].cast(kind)


def seats(pool):
    table = pool["seats"]
    spares_from = number(gdb.parse_and_eval("(unsigned)sizeof(((struct vigil_pool *)0)->seats) / sizeof(void *)")) // 2
    for first, count in ((0, number(pool["high"])), (spares_from, number(pool["spare_high"]))):
        for index in range(first, first + count):
            seat = table[index]
            seat = seat.cast(gdb.lookup_type("vg_seat").pointer())
            if number(seat) != 0:
                yield seat


def tick_ns():
    """The length of a tick of the recorder's clock in nanoseconds, or None."""
    try:
        header = gdb.parse_and_eval("vg_the_recorder.front->header")
        ticks = number(header["mark_ticks"]) - number(header["born_ticks"])
        span = number(header["mark_ns"]) - number(header["born_ns"])
        return span / ticks if ticks > 0 and span > 0 else None
    except (gdb.error, Unreadable):
        return None


def latest(cells):
    """The newest stamp of any worker: the best guess of "now" in a stopped process."""
    return max([known(lambda c=c: number(c), 0) for c in cells] + [0])


def age(stamp, now, length):
    if stamp == "?" or length is None or stamp == 0 or now < stamp:
        return "?"
    return "%.3f s" % ((now - stamp) * length / 1e9)


def deque_size(deque):
    return max(0, signed(deque["bottom"]) - signed(deque["top"]))


def threads_by_lwp():
    return {thread.ptid[1]: thread.num for thread in gdb.selected_inferior().threads()}


def word(names, value):
    return names[value] if isinstance(value, int) and 0 <= value < len(names) else str(value)


class Vigil(gdb.Command):
    """Look at the pools and loops of a program that uses Vigil."""

    def __init__(self):
        super().__init__("vigil", gdb.COMMAND_STATUS, gdb.COMPLETE_NONE, True)


class Workers(gdb.Command):
    """vigil workers [POOL]: what each worker does, since when, and what it waits for."""

    def __init__(self):
        super().__init__("vigil workers", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        length = tick_ns()
        lwps = threads_by_lwp()
        some = False
        for pool in pools(argument.strip()):
            some = True
            all_seats = list(seats(pool))
            now = latest([s["counts"]["state_since"] for s in all_seats] + [s["counts"]["task_since"] for s in all_seats])
            print("pool \"%s\" (0x%x), %d workers" % (pool["name"].string(), number(pool), number(pool["target"])))
            print("  %-7s %-8s %-7s %-9s %-10s %-6s %-10s %s" % ("worker", "thread", "gdb", "state", "for", "queued", "waits for", "task"))
            for seat in all_seats:
                counts = seat["counts"]
                lwp = number(seat["thread_id"])
                state = known(lambda: number(counts["state"]))
                queued = sum(deque_size(seat["deques"][c]) for c in range(len(CLASSES)))
                queued += number(seat["mail_pushed"]) - number(seat["mail_taken"])
                busy = state in (2, 7) or known(lambda: number(counts["depth"]), 0) not in (0, "?")
                task = known(lambda: symbol(number(counts["task_function"]))) if busy else "-"
                waits = word(WAITS, known(lambda: number(counts["wait"]["kind"])))
                notes = number(seat["note_count"])
                if 0 < notes <= 8:
                    note = seat["notes"][notes - 1]
                    waits = "%s 0x%x" % (["", "job", "group"][number(note["what"])], number(note["object"]))
                print(
                    "  %-7s %-8d %-7s %-9s %-10s %-6d %-10s %s"
                    % (
                        ("s%d" if number(seat["spare"]) else "%d") % number(seat["index"]),
                        lwp,
                        lwps.get(lwp, "-"),
                        word(STATES, state),
                        known(lambda: age(number(counts["state_since"]), now, length)),
                        queued,
                        waits or "-",
                        task,
                    )
                )
        if not some:
            print("vigil: there is no pool of that name or address" if argument.strip() else "vigil: this process has no pool")


class Queues(gdb.Command):
    """vigil queues [POOL]: what is queued where, and the state of the idle protocol."""

    def __init__(self):
        super().__init__("vigil queues", gdb.COMMAND_STATUS)

    @staticmethod
    def incoming(injector):
        """Tasks that no worker has moved to the ring yet: a list, newest first; the lowest bit says closed."""
        at = number(injector["incoming"]) & ~1
        count = 0
        kind = gdb.lookup_type("vigil_task").pointer()
        while at != 0 and count < MOST_LISTED:
            count += 1
            at = number(gdb.Value(at).cast(kind)["vg_next"])
        return count

    def invoke(self, argument, from_tty):
        some = False
        for pool in pools(argument.strip()):
            some = True
            idle = number(pool["idle"]["word"])
            print("pool \"%s\" (0x%x)" % (pool["name"].string(), number(pool)))
            print(
                "  searching %d, parked %d, places for spares %d; phase %s"
                % (
                    idle & 0xFFFF,
                    idle >> 16 & 0xFFFF,
                    (idle >> 32 & 0xFFFF) - 0x8000,
                    word(["open", "draining", "discarding"], number(pool["phase"])),
                )
            )
            print("  %-9s %-6s %-9s %-9s %-7s %-8s %-7s %s" % ("class", "ready", "incoming", "pending", "ring", "deques", "delayed", "cap"))
            all_seats = list(seats(pool))
            for c, name in enumerate(CLASSES):
                injector = pool["injectors"][c]
                cap = number(pool["caps"][c])
                print(
                    "  %-9s %-6s %-9s %-9s %-7s %-8s %-7s %s"
                    % (
                        name,
                        "yes" if idle >> (48 + c) & 1 else "no",
                        known(lambda: self.incoming(injector)),
                        known(lambda: number(injector["pending_count"])),
                        max(0, signed(injector["bottom"]) - signed(injector["top"])),
                        sum(deque_size(seat["deques"][c]) for seat in all_seats),
                        known(lambda: number(pool["shared"]["delayed"][c])),
                        "%d of %d" % (number(pool["cap_used"][c]), cap) if cap else "-",
                    )
                )
            mail = [(number(s["index"]), number(s["mail_pushed"]) - number(s["mail_taken"])) for s in all_seats]
            for index, count in mail:
                if count:
                    print("  mail for worker %d: %d" % (index, count))
        if not some:
            print("vigil: there is no pool of that name or address" if argument.strip() else "vigil: this process has no pool")


class Loops(gdb.Command):
    """vigil loops: the loops, their phase and their callback."""

    def __init__(self):
        super().__init__("vigil loops", gdb.COMMAND_STATUS)

    def invoke(self, argument, from_tty):
        lwps = threads_by_lwp()
        some = False
        for loop in loops():
            some = True
            lwp = number(loop["owner_thread"])
            print(
                "loop \"%s\" (0x%x): %s, phase %s, thread %d (gdb %s), posts taken %d"
                % (
                    loop["name"].string(),
                    number(loop),
                    word(LOOP_STATES, number(loop["state"]) & 7),
                    word(PHASES, known(lambda: number(loop["shared"]["phase"]))),
                    lwp,
                    lwps.get(lwp, "-"),
                    number(loop["ingress"]["taken"]),
                )
            )
        if not some:
            print("vigil: this process has no loop")


Vigil()
Workers()
Queues()
Loops()
