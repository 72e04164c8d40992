# SPDX-License-Identifier: MIT
"""headers.py: the public headers as data, for the manual.

The headers are the manual's source. Their authors write plain comments; this module knows the shapes that they have:

    the first block comment     "vigil/x.h - what it is", then the description
    /* ---- title ---- */       a section
    a comment above a name      its text; further names up to the next blank line share it
    a comment between blanks    an introduction to the functions that follow in its section

Guards, includes, the C++ side of a conditional and the bodies of inline functions are left out.
"""
import os
import re
import sys

WIDTH = 72


class Item:
    """A public name: kind is function, macro, struct, enum, callback or type."""

    def __init__(self, kind, name, text, comment, section, intro):
        self.kind, self.name, self.text = kind, name, text
        self.comment, self.section, self.intro = comment, section, intro
        self.header = None


class Header:
    def __init__(self, path, name, purpose, text, items):
        self.path, self.name, self.purpose, self.text, self.items = path, name, purpose, text, items
        self.page = "vigil-" + os.path.basename(path)[:-2]

    def functions(self):
        return [item for item in self.items if item.kind == "function"]


def comment_text(text):
    """The words of a block comment, without its frame. Indented parts keep their indentation."""
    starred = re.search(r"\n \*", text)
    text = re.sub(r"^/\*+ ?", "", text.strip())
    text = re.sub(r"\s*\*/$", "", text)
    out = []
    for line in text.split("\n"):
        out.append(re.sub(r"^ \* ?", "", line) if starred else re.sub(r"^   ", "", line))
    return "\n".join(out).strip("\n")


def for_c(source):
    """The lines that a C compiler sees, without the directives that chose them."""
    out, stack = [], []
    for line in source.split("\n"):
        if re.match(r"#\s*if", line):
            seen = not re.match(r"#\s*ifdef __cplusplus|#\s*if .*defined\(__cplusplus\)", line)
            stack.append(seen)
        elif re.match(r"#\s*(else|elif)", line):
            stack[-1] = not stack[-1]
        elif re.match(r"#\s*endif", line):
            stack.pop()
        elif all(stack) and not re.match(r"#\s*(include|error|pragma|undef)|#\s*define VIGIL_\w+_H$", line):
            out.append(line)
    return "\n".join(out)


def statements(source):
    """(kind, text) of each part: section, comment, blank, code."""
    at = 0
    while at < len(source):
        rest = source[at:]
        blank = re.match(r"[ \t]*\n", rest)
        if blank:
            yield "blank", ""
            at += blank.end()
            continue
        if rest.startswith("/*"):
            end = rest.index("*/") + 2
            text = rest[:end]
            section = re.match(r"/\* -{3,} (.*?) -{3,} \*/", text)
            yield ("section", section.group(1)) if section else ("comment", text)
            at += end
            at += 1 if source[at:at + 1] == "\n" else 0
            continue
        if rest.startswith("#"):
            end = re.match(r"(?:[^\n]*\\\n)*[^\n]*", rest).end()
        else:
            end = end_of_statement(rest)
        tail = re.match(r"[ \t]*(/\*.*?\*/)?[ \t]*\n?", rest[end:], flags=re.S)
        yield "code", (rest[:end], tail.group(1))
        at += end + tail.end()


def end_of_statement(text):
    depth, at = 0, 0
    while at < len(text):
        if text.startswith("/*", at):
            at = text.index("*/", at) + 2
            continue
        if text[at] in "{(":
            depth += 1
        elif text[at] in "})":
            depth -= 1
            if depth == 0 and text[at] == "}" and not re.match(r"\s*\w*\s*;", text[at + 1:]):
                return at + 1
        elif text[at] == ";" and depth == 0:
            return at + 1
        at += 1
    return at


def name_of(code):
    """(kind, name) of a declaration; None for what is nobody's business."""
    bare = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    if code.startswith("#"):
        found = re.match(r"#\s*define (\w+)(\()?", code)
        if not found or not found.group(1).startswith("VIGIL_") or found.group(1).startswith(("VIGIL_VG",)):
            return None
        return "macro", found.group(1)
    function = re.match(r"(?:VIGIL_API|static inline)\b[^({;]*?\b(vigil_\w+)\s*\(", bare)
    if function:
        if re.fullmatch(r"vigil_\w+_init", function.group(1)) and re.search(r"_init\(void\)", bare):
            return None
        return "function", function.group(1)
    callback = re.match(r"typedef [^{;]*\(\*(vigil_\w+)\)\(", bare)
    if callback:
        return "callback", callback.group(1)
    whole = re.match(r"(?:typedef )?(struct|enum|union)\s+(vigil_\w+)?\s*\{", bare)
    if whole:
        name = re.search(r"\}\s*(vigil_\w+)?\s*;$", bare.strip())
        named = (name and name.group(1)) or whole.group(2)
        return ("enum" if whole.group(1) == "enum" else "struct", named) if named else None
    opaque = re.match(r"typedef .*\b(vigil_\w+)\s*;", bare, flags=re.S)
    if opaque:
        return "type", opaque.group(1)
    return None


def read(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    source = re.sub(r"^/\* SPDX[^\n]*\n", "", source)
    head = re.match(r"\s*/\*.*?\*/", source, flags=re.S)
    if head is None:
        sys.exit(f"{path}: no block comment at its head; say there what the header is")
    first, _, rest = comment_text(head.group(0)).partition("\n")
    name, dash, purpose = first.partition(" - ")
    if not dash:
        sys.exit(f"{path}: the first line of its head should read 'vigil/x.h - what it is', and reads '{first}'")
    items, section, intro, comment, pending = [], "", "", None, None
    for kind, text in statements(for_c(source[head.end():])):
        if kind == "section":
            section, intro, comment, pending = text, "", None, None
        elif kind == "comment":
            comment, pending = comment_text(text), True
        elif kind == "blank":
            if pending:
                intro = comment
            comment, pending = None, None
        else:
            code, behind = text
            pending = None
            named = name_of(code)
            if named is None:
                continue
            own = comment_text(behind) if behind and named[0] == "function" else comment
            items.append(Item(*named, code, own or "", section, intro))
    items = [item for item in items if not (item.kind == "type" and any(
        other.name == item.name and other.kind in ("struct", "enum") for other in items))]
    header = Header(path, name, purpose.rstrip("."), rest, items)
    for item in items:
        item.header = header
    return header


def read_all(folder="include/vigil"):
    return [read(os.path.join(folder, name)) for name in sorted(os.listdir(folder))
            if name.endswith(".h") and name != "vigil.h"]


# ---- declarations ---------------------------------------------------------------------------------------------------


def split_outside(text, mark):
    """Split at a character that is inside no bracket."""
    parts, depth, start = [], 0, 0
    for at, char in enumerate(text):
        depth += (char in "([{") - (char in ")]}")
        if char == mark and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return parts + [text[start:].strip()]


def prototype(code, width=WIDTH):
    """A function or callback as one declaration, laid out for a page of that width."""
    text = re.sub(r"/\*.*?\*/", "", code, flags=re.S)
    text = re.sub(r"\b(VIGIL_API|VIGIL_NORETURN|VIGIL_PRINTF\([^)]*\)|static inline)\s+", "", text)
    text = re.sub(r"\s+VIGIL_PRINTF\([^)]*\)", "", text)
    text = " ".join(text.split("{")[0].split() if not text.startswith("typedef") else text.split()).rstrip(" ;")
    if len(text) < width:
        return text + ";"
    found = re.match(r"(typedef [^;]*?\(\*\w+\)\(|[^(]*?\()", text)
    start, rest = found.group(1), text[found.end():]
    arguments = split_outside(rest[:rest.rindex(")")], ",")
    for indent in (len(start), 4):
        if indent == len(start) and max(len(one) for one in arguments) + indent + 2 > width:
            continue
        lines = [start] if indent == len(start) else [start, " " * 4]
        for number, one in enumerate(arguments):
            word = one + (", " if number + 1 < len(arguments) else ");")
            if len((lines[-1] + word).rstrip()) > width and lines[-1].strip() and not lines[-1].endswith("("):
                lines.append(" " * indent)
            lines[-1] += word
        return "\n".join(line.rstrip() for line in lines)
    return text + ";"


def members(code):
    """The members of a struct or enum as (declaration, words); the library's own are left out."""
    body = code[code.index("{") + 1:code.rindex("}")]
    out, words, at = [], "", 0
    while at < len(body):
        rest = body[at:]
        if rest.startswith("/*"):
            end = rest.index("*/") + 2
            words = (words + " " + " ".join(comment_text(rest[:end]).split())).strip()
            at += end
            continue
        if rest[0] in " \t\n":
            at += 1
            continue
        depth = end = 0
        while end < len(rest) and not (depth == 0 and rest[end] in ";,"):
            if rest.startswith("/*", end):
                break
            depth += (rest[end] in "([{") - (rest[end] in ")]}")
            end += 1
        stopped = rest[end:end + 1]
        text = " ".join(rest[:end].split())
        if stopped == "," and "=" not in text and not re.fullmatch(r"[A-Z_0-9]+", text):
            end = rest.index(";")   # several members of one type
            text = " ".join(rest[:end].split())
        at += end + (1 if rest[end:end + 1] in (";", ",") else 0)
        behind = re.match(r"[ \t]*/\*(.*?)\*/", body[at:], flags=re.S)
        if behind:
            words = (words + " " + " ".join(comment_text("/*" + behind.group(1) + "*/").split())).strip()
            at += behind.end()
        if text and not re.search(r"\bvg_\w+", text):
            out.append((text, words))
        words = ""
    return out
