# SPDX-License-Identifier: MIT
"""Where a fault can be put into the sources, and what it is. check/faults judges them.

A fault is a change of one line (two for a swap). It is known by its file, its kind, the line before and after, and which of the equal ones it is, so
it keeps its name when lines move.
"""
import collections
import hashlib
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOMS = ("base", "record", "pool", "loop", "share", "promise", "parallel", "reader")
SKIPPED = {"base/fault.c", "base/fault.h", "promise/frame.c"}  # only in builds for tests; not in any check program

CALL = re.compile(r"^\s*(?:\(void\)\s*)?[a-z_][\w>.\-]*\(.*\);$")
STORE = re.compile(r"^\s*[\w>.\-\[\]\*\(\)]+ (?:[|&+\-]?)= [^=].*;$")
STEP = re.compile(r"^\s*(?:(?:\+\+|--)[\w>.\-\[\]]+|[\w>.\-\[\]]+(?:\+\+|--));$")
DECLARED = re.compile(r"^\s*(?:const |static |struct |enum |unsigned |int|size_t|uint|bool|char|void|double|long|_Atomic|vg_\w+ |vigil_\w+ )[\w ]*[ *]\w+(?:\[.*\])? = ")
CONDITION = re.compile(r"^(\s*(?:\} else )?(?:if|while) )\((.*)\)( \{)?$")
WAKE = re.compile(r"wake|signal|notify|unpark|interrupt")
PROTOCOL = re.compile(r"\b(?:__)?atomic_(?!init)|\bvg_fence_|\bvg_futex_|_wake\b|\bvg_mutex_")
COMPARE = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
WEAKER = {"acquire": ("relaxed",), "release": ("relaxed",), "acq_rel": ("acquire", "release")}


def weaker_orders(found):
    """One step down. What seq_cst becomes depends on what it is the order of."""
    prefix, order = found.group(1), found.group(2).lower()
    orders = WEAKER.get(order)
    if orders is None:
        operations = re.findall(r"atomic_(load|store)_", found.string[:found.start()])
        orders = {"load": ("acquire",), "store": ("release",)}.get(operations[-1] if operations else "", ("acq_rel",))
    return [prefix + (weaker.upper() if found.group(2).isupper() else weaker) for weaker in orders]


PATTERNS = (
    ("order", re.compile(r"(memory_order_|__ATOMIC_)(release|acquire|acq_rel|seq_cst|RELEASE|ACQUIRE|ACQ_REL|SEQ_CST)\b"), weaker_orders),
    ("compare", re.compile(r" (<=|>=|==|!=|<|>) (?!\w+\.h>)"), lambda m: [f" {COMPARE[m.group(1)]} "]),
    ("logic", re.compile(r" (&&|\|\|) "), lambda m: [" || " if m.group(1) == "&&" else " && "]),
    ("off_by_one", re.compile(r" ([+-]) 1\b(?!\.)"), lambda m: [f" {m.group(1)} 0"]),
    ("count", re.compile(r"(?<=, )1(?=, memory_order_)"), lambda m: ["0"]),
    ("constant", re.compile(r"\b(true|false)\b"), lambda m: ["false" if m.group(1) == "true" else "true"]),
)


class Fault:
    def __init__(self, path, number, kind, before, after, span=1):
        self.path, self.number, self.kind, self.before, self.after, self.span = path, number, kind, before, after, span
        self.protocol = False  # it stands in a function that synchronises

    def key(self):
        return (self.path, self.kind, self.before, self.after)

    def place(self):
        return f"line {self.number + 1}: {self.before.strip().splitlines()[0]}"


def real(path):
    return os.path.join(ROOT, "include" if path.startswith("vigil/") else "src", path)


def code_lines(text):
    """Return the lines with comments and strings blanked, so that no fault lands in one."""
    blank = re.sub(r"/\*.*?\*/|//[^\n]*", lambda m: re.sub(r"[^\n]", " ", m.group()), text, flags=re.S)
    blank = re.sub(r'"(?:[^"\\\n]|\\.)*"', lambda m: '"' + "x" * (len(m.group()) - 2) + '"', blank)
    return re.sub(r'^extern "x" \{$', " " * 12, blank, flags=re.M).split("\n")


def functions(code):
    """For each line the number of the outermost block that it is in, or None."""
    depth, block, result = 0, 0, []
    for bare in code:
        opens = depth == 0 and "{" in bare
        block += opens
        result.append(block if depth > 0 or opens else None)
        if not bare.lstrip().startswith("#"):
            depth = max(0, depth + bare.count("{") - bare.count("}"))
    return result


def faults_of(path):
    with open(real(path)) as file:
        text = file.read()
    lines, code = text.split("\n"), code_lines(text)
    blocks = functions(code)
    bodies = collections.defaultdict(list)
    for block, bare in zip(blocks, code):
        bodies[block].append(bare)
    protocol = {block for block, body in bodies.items() if block is not None and PROTOCOL.search("\n".join(body))}
    for fault in changes(path, lines, code, blocks):
        fault.protocol = blocks[fault.number] in protocol
        yield fault


def changes(path, lines, code, blocks):
    macro = False
    for number, (line, bare) in enumerate(zip(lines, code)):
        inside = blocks[number] is not None and number > 0 and blocks[number - 1] == blocks[number]
        was_macro, macro = macro, bare.lstrip().startswith("#") or macro
        macro = macro and bare.endswith("\\")
        stripped = bare.rstrip()
        if not inside or was_macro or stripped.lstrip().startswith("#") or not stripped.strip():
            continue
        for kind, pattern, change in PATTERNS:
            for found in pattern.finditer(bare):
                for after in change(found):
                    yield Fault(path, number, kind, line, line[:found.start()] + after + line[found.end():])
        found = CONDITION.match(stripped)
        equality = found and re.search(r" [!=]= ", found.group(2)) and not re.search(r"&&|\|\|", found.group(2))  # "compare" turns it round
        if found and not equality and "=" not in re.sub(r"[=!<>]=", "", found.group(2)) and balanced(found.group(2)):
            start, end = found.span(2)
            yield Fault(path, number, "negate", line, line[:start] + "!(" + line[start:end] + ")" + line[end:])
        nothing = re.match(r"\s*", line).group() + ";"
        whole = number == 0 or re.search(r"[;{}:]\s*$|^\s*$|\)\s*$|else\s*$", code[number - 1])
        if whole and CALL.match(stripped) and "assert" not in bare and balanced(stripped):
            kind = "fence" if "fence" in bare else "store" if "atomic_store" in bare else "wake" if WAKE.search(bare) else "call"
            yield Fault(path, number, kind, line, nothing)
        elif whole and (STEP.match(stripped) or (STORE.match(stripped) and not DECLARED.match(stripped))) and balanced(stripped):
            yield Fault(path, number, "store", line, nothing)
        elif stripped.strip() in ("break;", "continue;"):
            yield Fault(path, number, "break", line, nothing)
        if number + 1 < len(lines) and not macro:
            following = code[number + 1].rstrip()
            plain = [s for s in (stripped, following) if (CALL.match(s) or STORE.match(s)) and not DECLARED.match(s) and balanced(s)]
            indent = [len(s) - len(s.lstrip()) for s in (stripped, following)]
            if len(plain) == 2 and indent[0] == indent[1] and whole and re.search(r"[;{}]\s*$", code[number - 1]) and not independent(*plain):
                yield Fault(path, number, "swap", line + "\n" + lines[number + 1], lines[number + 1] + "\n" + line, 2)


def independent(first, second):
    """Two plain stores of different names, none of which the other reads: no thread of a program without races can tell their order."""
    if not (STORE.match(first) and STORE.match(second)) or re.search(r"\w\(|\*", first + second):
        return False
    sides = [text.strip().split(" ")[0] for text in (first, second)]
    return sides[0] not in second and sides[1] not in first


def balanced(text):
    return text.count("(") == text.count(")")


def sources():
    for room in ROOMS:
        yield from (room + "/" + name for name in sorted(os.listdir(os.path.join(ROOT, "src", room))) if name.endswith((".c", ".h")))
    yield from ("vigil/" + name for name in sorted(os.listdir(os.path.join(ROOT, "include/vigil"))) if name.endswith(".h"))
    yield from ("io/readiness.c", "watchdog/verdict_file.c")


def all_faults():
    named = collections.OrderedDict()
    for path in sources():
        if path in SKIPPED:
            continue
        copies = collections.Counter()
        for fault in faults_of(path):
            copies[fault.key()] += 1
            digest = hashlib.sha1("\0".join(fault.key()).encode()).hexdigest()[:8]
            named[f"{path}:{fault.kind}:{digest}.{copies[fault.key()]}"] = fault
    return named


def mutated(fault):
    with open(real(fault.path)) as file:
        lines = file.read().split("\n")
    lines[fault.number:fault.number + fault.span] = fault.after.split("\n")
    return "\n".join(lines)
