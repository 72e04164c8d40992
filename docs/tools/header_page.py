#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""header_page.py <include/vigil/x.h>: the header as a page in Markdown, on standard output.

The headers are the manual; this turns one into a page without asking its author for any markup. It knows the shapes that
the headers have:

    the first block comment     "vigil/x.h - what it is", then the description
    /* ---- title ---- */       a section
    a comment, declarations     up to the next blank line: the declarations, then the comment as their text
    a struct or an enum         shown whole, with the comments inside it

What a reader of a manual has no use for (guards, includes, the C++ side of an _INIT macro, bodies of inline functions) is
left out.
"""
import re
import sys


def comment_text(lines):
    """The words of a block comment, without its frame; indented parts keep their indentation."""
    text = "\n".join(lines).strip()
    text = re.sub(r"^/\*+ ?", "", text)
    text = re.sub(r"\s*\*/$", "", text)
    out = []
    for line in text.split("\n"):
        line = re.sub(r"^ \* ?", "", line)
        out.append(re.sub(r"^   (?=\S)", "", line) if not line.startswith("    ") else line)
    return "\n".join(out).strip("\n")


def escape(text):
    """Plain words that Markdown would take for markup."""
    return re.sub(r"([*_<>\[\]\\])", r"\\\1", text)


def prose(text):
    """Paragraphs as they are; indented or table-like parts as they stand."""
    out = []
    for block in re.split(r"\n\s*\n", text):
        lines = block.split("\n")
        body = [line for line in lines if line.strip()]
        if not body:
            continue
        if all(line.startswith("  ") for line in body) or any(re.search(r"\S {3,}\S", line) for line in body):
            out.append("```\n" + "\n".join(lines) + "\n```")
        else:
            out.append("\n".join(escape_words(line) for line in body))
    return "\n\n".join(out)


def escape_words(line):
    """Names of the library in code type, everything else as plain words."""
    parts = re.split(r"(`[^`]*`|\bvigil_\w+|\bVIGIL_\w+|-E[A-Z]+\b)", line)
    return "".join(part if part.startswith("`") else
                   "`" + part + "`" if re.fullmatch(r"vigil_\w+|VIGIL_\w+|-E[A-Z]+", part) else
                   escape(part) for part in parts)


def tidy_declaration(lines):
    """Without VIGIL_API, without the bodies of inline functions."""
    text = "\n".join(lines)
    text = re.sub(r"\bVIGIL_API ", "", text)
    text = re.sub(r"(static inline [^{;]*?)\s*\{.*?\n\}", r"\1;", text, flags=re.S)
    return text.strip("\n")


def blocks(source):
    """The header below its guard as a list of (kind, lines): comment, code, blank, section."""
    lines = source.split("\n")
    i = 0
    depth_skipped = 0
    while i < len(lines):
        line = lines[i]
        if re.match(r"#\s*if", line):
            if depth_skipped or re.match(r"#\s*if(def __cplusplus|ndef VIGIL_\w+_H\b)", line):
                # The C++ branch is skipped, the C branch (after #else) is shown; the guard is no branch at all.
                if re.match(r"#\s*ifndef VIGIL_\w+_H\b", line):
                    i += 1
                    continue
                depth_skipped += 1
            i += 1
            continue
        if re.match(r"#\s*(else|elif)", line):
            depth_skipped = max(0, depth_skipped - 1)
            i += 1
            continue
        if re.match(r"#\s*(endif|include|error|pragma)|#\s*define VIGIL_\w+_H$", line):
            if line.startswith("#endif"):
                depth_skipped = max(0, depth_skipped - 1)
            i += 1
            continue
        if depth_skipped:
            i += 1
            continue
        section = re.match(r"/\* -{3,} (.*?) -{3,} \*/", line)
        if section:
            yield "section", [section.group(1)]
            i += 1
        elif line.startswith("/*"):
            start = i
            while "*/" not in lines[i]:
                i += 1
            i += 1
            yield "comment", lines[start:i]
        elif not line.strip():
            yield "blank", []
            i += 1
        else:
            start = i
            braces = 0
            while i < len(lines):
                braces += lines[i].count("{") - lines[i].count("}")
                more = lines[i].endswith("\\")
                i += 1
                if braces <= 0 and not more and (re.search(r"[;}]\s*(/\*.*\*/)?\s*$", lines[i - 1]) or lines[start].startswith("#")):
                    break
            yield "code", lines[start:i]


def page(path):
    with open(path, encoding="utf-8") as file:
        source = file.read()
    source = re.sub(r"^/\* SPDX[^\n]*\n", "", source)
    head = re.match(r"\s*/\*(.*?)\*/", source, flags=re.S)
    if head is None:
        sys.exit(f"{path}: no block comment at its head; say there what the header is")
    text = comment_text(("/*" + head.group(1) + "*/").split("\n"))
    first, _, rest = text.partition("\n")
    name, dash, purpose = first.partition(" - ")
    if not dash:
        sys.exit(f"{path}: the first line of its head should read 'vigil/x.h - what it is', and reads '{first}'")
    title = name.replace("/", "_").removesuffix(".h")
    out = ["## Name", f"{escape(title)} – {escape_words(purpose)}", "## Synopsis", f"```c\n#include <{name}>\n```",
           "## Description", prose(rest)]
    waiting = None
    code = []

    def flush():
        nonlocal waiting, code
        if code:
            out.append("```c\n" + tidy_declaration(code) + "\n```")
        if waiting is not None:
            out.append(prose(waiting))
        waiting, code = None, []

    for kind, lines in blocks(source[head.end():]):
        if kind == "section":
            flush()
            title = lines[0]
            out.append("## " + title[0].upper() + title[1:])
        elif kind == "comment":
            flush()
            waiting = comment_text(lines)
        elif kind == "blank":
            if code:
                flush()
        else:
            shown = "\n".join(lines)
            if not re.match(r'extern "C"|}\s*$', shown):
                code += lines
    flush()
    return "\n\n".join(out) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: header_page.py <header>")
    sys.stdout.write(page(sys.argv[1]))
