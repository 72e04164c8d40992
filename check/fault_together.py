# SPDX-License-Identifier: MIT
"""All faults of a file in one object, of which a variable of the environment switches one on. check/faults judges them.

To compile a file and link a program for each fault costs more than to run the scenarios. So a line that has faults becomes a choice between the line
and its changes, on the same line. A line is left out where that cannot be written without reading C: a statement over several lines, a loop's head, a
declaration of something else than one value. Those are built one at a time.
"""
import collections
import os
import re
import shlex
import subprocess

from fault_sites import CONDITION, balanced, code_lines, real

DECLARATION = re.compile(r"^(\s*(?:(?:const|static|struct|enum|unsigned|volatile) )*[A-Za-z_]\w*(?:\s+\*?\s*(?:const )?|\s*\*\s*(?:const )?)[A-Za-z_]\w*) = ([^{}]*);$")
DECLARES = re.compile(r"^\s*(?!return\b|goto\b|else\b)(?:[A-Za-z_]\w*\s+)+\**\s*[A-Za-z_]\w*(?:\[.*\])?\s*(?:=[^=]|;|,)")
SWITCH = """#include <stdlib.h>
int vg_fault_on(int number);
static int chosen;
__attribute__((constructor)) static void choose(void) { const char *text = getenv("VG_FAULT_ON"); chosen = text ? atoi(text) : 0; }
int vg_fault_on(int number) { return chosen == number; }
"""


def choice(numbers, texts, last):
    """An expression: the text whose number is switched on, else the last."""
    return "".join(f"vg_fault_on({number}) ? ({text}) : " for number, text in zip(numbers, texts)) + f"({last})"


def one_line(line, bare, before, numbers, afters):
    """The line as a choice, or None."""
    stripped = bare.rstrip()
    found = CONDITION.match(stripped)
    if found and balanced(found.group(2)):
        start, end = found.span(2)
        changes = [after[start:len(after) - (len(line) - end)] for after in afters]
        return line[:start] + choice(numbers, changes, line[start:end]) + line[end:]
    whole = re.search(r"[;{}:]\s*$|^\s*$|\)\s*$|else\s*$", before)
    if not whole or not stripped.endswith(";") or not balanced(stripped) or re.match(r"\s*(case|default|static)\b", stripped):
        return None
    found = DECLARATION.match(stripped)
    if found and not re.match(r"\s*return\b", stripped):
        start, end = found.span(2)
        if any(after[:start] != line[:start] or not after.rstrip().endswith(";") for after in (text.split("/*")[0].rstrip() for text in afters)):
            return None
        return line[:start] + choice(numbers, [after[start:len(after) - (len(line) - end)] for after in afters], line[start:end]) + line[end:]
    if DECLARES.match(stripped) or stripped.count(";") != 1:
        return None
    text = "".join(f"if (vg_fault_on({number})) {{ {code_of(after)} }} else " for number, after in zip(numbers, afters))
    return "{ " + text + "{ " + code_of(line) + " } }"


def code_of(line):
    return re.sub(r"/\*.*?(\*/|$)", "", line).strip()


def together(path, faults, left_out, first=1):
    """The file with a choice on each line that has faults, and the numbers (from `first` on) of those that are in it."""
    with open(real(path)) as file:
        text = file.read()
    lines, code = text.split("\n"), code_lines(text)
    by_line, numbers = collections.defaultdict(list), {}
    for number, (name, fault) in enumerate(faults.items(), first):
        if fault.span == 1 and fault.number not in left_out:
            by_line[fault.number].append((number, name, fault.after))
    for at, those in by_line.items():
        changed = one_line(lines[at], code[at], code[at - 1] if at else "", [number for number, _, _ in those], [after for _, _, after in those])
        if changed is not None:
            lines[at] = changed
            numbers.update({name: number for number, name, _ in those})
    return "int vg_fault_on(int) __attribute__((const)); " + "\n".join(lines), numbers


def compiled_together(path, faults, place, target, command, first=1):
    """Compiles the file with its faults, without the lines that this cannot handle; returns their numbers, none if it cannot be compiled at all."""
    source, left_out = os.path.join(place, os.path.basename(path)), set()
    for _ in range(12):
        text, numbers = together(path, faults, left_out, first)
        with open(source, "w") as out:
            out.write(text)
        include = ["-I" + os.path.dirname(real(path)), "-I" + os.path.join(os.path.dirname(os.path.dirname(real(path))))]
        done = subprocess.run([command[0], *include, *command[1:], "-c", source, "-o", target], stderr=subprocess.PIPE, universal_newlines=True)
        if done.returncode == 0:
            return numbers
        wrong = {int(number) - 1 for number in re.findall(re.escape(os.path.basename(source)) + r":(\d+):", done.stderr)}
        if not wrong - left_out:
            break
        left_out |= wrong
    return {}


class Together:
    """For each source file: its object, and each program that has it, linked with that."""

    def __init__(self, builder):
        self.builder, self.made = builder, {}
        self.switch = os.path.join(builder.place, "switch.o")
        source = os.path.join(builder.place, "switch.c")
        with open(source, "w") as out:
            out.write(SWITCH)
        subprocess.run([builder.env["cc"], "-O1", "-c", source, "-o", self.switch], check=True)

    def prepare(self, path, faults):
        """Compiles the file with its faults; returns their numbers."""
        if path in self.made:
            return self.made[path][1]
        place = os.path.join(self.builder.place, "together", path.replace("/", "."))
        os.makedirs(place, exist_ok=True)
        target = os.path.join(place, "new.o")
        numbers = compiled_together(path, faults, place, target, [self.builder.env["cc"], *shlex.split(self.builder.env["cflags"]), "-w", "-g0"])
        self.made[path] = (target, numbers, {})
        return numbers

    def program(self, path, program):
        target, _, linked = self.made[path]
        if program not in linked:
            parts = [target if source == real(path) else known for known, source in self.builder.objects(program)]
            linked[program] = os.path.join(os.path.dirname(target), "check_" + program)
            subprocess.run([self.builder.env["cc"], *shlex.split(self.builder.env["ldflags"]), "-Wl,-S", *parts, self.switch, self.builder.env["engine"],
                            "-o", linked[program]], check=True)
        return linked[program]
