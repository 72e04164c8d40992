#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""manual.py <folder> <version>: the manual, one page for each public function and one for each header.

    <folder>/man/man3/vigil_pool_submit.3     for man(1); types and macros lead to the page of their header
    <folder>/manual/vigil_pool_submit.md      the same for the site

The words come from the headers (headers.py), the examples from docs/examples/<header>.c. A comment there names what the code
below it, up to the next such comment, is an example of:

    /* vigil_pool_submit: submit a task that lives in your own struct */

Its words are the page's NAME. A function without an example, without a word on threads or without a comment is an error, and so
is an example of something that does not exist.
"""
import errno
import itertools
import os
import re
import sys
import textwrap

import headers
from headers import WIDTH, members, prototype

SECTIONS = ("Name", "Synopsis", "Description", "Return value", "Threads", "Example", "See also")
# Where a header has a page of docs/ that goes with it.
GUIDES = {"pool": ["guide", "priorities", "shutdown"], "loop": ["loop", "embedding", "shutdown"], "promise": ["promise"],
          "async": ["async"], "sync": ["sharing"], "channel": ["sharing"], "cancel": ["promise"], "record": ["watching"], "watch": ["watching"], "watchdog": ["watching"],
          "js": ["js"], "parallel": ["parallel"], "flow": ["flow"], "graph": ["parallel"], "base": ["guide"], "error": ["guide"]}


# ---- comments ---------------------------------------------------------------------------------------------------------


def columns(lines):
    """An indented block as rows of cells, or None if its lines do not stand in columns."""
    first = lines[0]
    starts = [found.end() for found in re.finditer(r"(?:^|\S) {2,}", first)]
    if len(starts) < 2:
        return None
    if any(line[start - 1:start].strip() for line in lines for start in starts[1:]):
        starts = starts[:2]
    rows = []
    for line in lines:
        cells = [line[start:end].strip() for start, end in zip(starts, starts[1:] + [None])]
        if line[:starts[0]].strip() or any(line[start - 1:start].strip() for start in starts[1:]):
            return None
        if not cells[0] and rows:
            rows[-1] = [(old + " " + new).strip() for old, new in zip(rows[-1], cells)]
        else:
            rows.append(cells)
    return rows


def looks_like_code(lines):
    return re.search(r"[;{}]\s*$|^\s*(--|#)", "\n".join(lines), flags=re.M) is not None


def narrow(lines):
    """Code from a comment, within the width of a page: a remark "-- words" goes above its line, a long line is folded."""
    out = []
    for line in lines:
        indent = re.match(r" *", line).group(0)
        remark = re.match(r"(.*?)\s+-- (.*)$", line)
        if remark and len(line) > WIDTH:
            words = textwrap.wrap(remark.group(2), WIDTH - len(indent) - 6)
            out += [indent + ("/* " if number == 0 else "   ") + one + (" */" if number + 1 == len(words) else "")
                    for number, one in enumerate(words)]
            line = remark.group(1)
        elif remark:
            line = f"{remark.group(1)} /* {remark.group(2)} */"
        out += textwrap.wrap(line, WIDTH, subsequent_indent=indent + "    ", break_long_words=False, break_on_hyphens=False,
                             drop_whitespace=True, replace_whitespace=False) if len(line) > WIDTH else [line]
    return "\n".join(out)


def blocks(text):
    """A comment as blocks: ("p", words), ("code", text), ("rows", rows)."""
    out, paragraph, indented = [], [], []

    def close():
        nonlocal paragraph, indented
        if paragraph:
            out.append(("p", " ".join(line.strip() for line in paragraph)))
        if indented:
            rows = columns(indented)
            if rows:
                out.append(("rows", rows))
            elif looks_like_code(indented):
                least = min(len(line) - len(line.lstrip()) for line in indented if line.strip())
                out.append(("code", narrow([line[least:] for line in indented])))
            else:
                out.append(("p", " ".join(line.strip() for line in indented)))
        paragraph, indented = [], []

    lines = text.split("\n")
    for number, line in enumerate(lines):
        if not line.strip():
            following = next((one for one in lines[number:] if one.strip()), "")
            if indented and following.startswith("    ") and columns(indented) is None:
                indented.append("")
            else:
                close()
        elif line.startswith("  "):
            if paragraph and not indented:
                following = list(itertools.takewhile(lambda one: one.startswith("  "), lines[number:]))
                if columns(following) is None and not looks_like_code(following):
                    paragraph.append(line)
                    continue
                close()
            indented.append(line)
        else:
            if indented:
                close()
            paragraph.append(line)
    close()
    return out


RETURNS = re.compile(r"(0(?=[ ;:.,)]|$)|1(?= )|-E[A-Z0-9]+\b|NULL(?=:)|False\b|True\b|Also -E|As (vigil_\w+|submit)|Returns?\b|"
                     r"VIGIL_\w+ or VIGIL_\w+|The fd[;.]|A vigil_promise_state[;.])")
THREADS = re.compile(r"(?i)(any thread|owner\b|worker[.;]|inside (the|a) (task|callback|handler)|only (inside|on)|init only|the watchdog|"
                     r"does not block|never blocks|blocks\b|may block|no other thread)")
CODES = r"(?:-E[A-Z0-9]+|VIGIL_[A-Z_]+)(?:(?:,| or| and) (?:-E[A-Z0-9]+|VIGIL_[A-Z_]+))*"


def sentences(words):
    return re.split(r"(?<=[.!?)])(?<!e\.g\.) (?=[A-Z0-9`\"*(-])", words)


def sorted_comment(text):
    """A function's comment as (description blocks, rows of results, sentences on threads)."""
    described, results, threads = [], [], []
    # Lines "0  words" or "-EBUSY   words" are results, with the lines that are indented below them.
    plain, last = [], None
    for line in text.split("\n"):
        row = re.match(rf" *(0|1|{CODES})(?: {{2,}}(\S.*)|\.?)$", line)
        if row:
            last = [row.group(1), (row.group(2) or "").strip()]
            results.append(last)
        elif last is not None and re.match(r" {3,}\S", line):
            last[1] += " " + line.strip()
        else:
            last = None
            plain.append(line)
    for kind, block in blocks("\n".join(plain)):
        if kind != "p":
            described.append((kind, block))
            continue
        kept = []
        for sentence in sentences(block):
            if RETURNS.match(sentence) or "; -E" in sentence:
                results += result_rows(sentence)
            elif THREADS.match(sentence):
                threads.append(sentence)
            else:
                if re.search(r"(?i)\bany thread|\bblocks\b|; owner\b", sentence) and not threads:
                    threads.append(sentence[0].upper() + sentence[1:])
                kept.append(sentence)
        if kept:
            described.append(("p", " ".join(kept)))
    return described, results, threads


def result_rows(sentence):
    rows = []
    for piece in headers.split_outside(sentence.rstrip("."), ";"):
        piece = re.sub(r"^[Aa]lso (?=-E)", "", piece)
        found = re.match(rf"(0|1|NULL|{CODES})(?:[:,]? +(.*)|:?)$", piece, flags=re.S)
        if found:
            rows.append([found.group(1), (found.group(2) or "").strip()])
        elif re.match(r"[^-]* also -E[A-Z]+\b", piece):
            who, code, why = re.match(r"(.*?) also (-E[A-Z]+)\b:?\s*(.*)", piece, flags=re.S).groups()
            rows.append([code, f"{who}: {why}" if why else f"{who} alone"])
        elif rows and rows[-1][1] and not re.match(r"[A-Z]|and what", piece):
            rows[-1][1] += "; " + piece
        else:
            rows.append(["", piece])
    return rows


def finished(sentence):
    sentence = sentence.strip()
    if not sentence:
        return sentence
    name = re.match(r"[*&]?\w*(_\w+|\(|\[)|(fn|run|cancel|arg)\b", sentence)
    sentence = sentence if name else sentence[0].upper() + sentence[1:]
    return sentence if sentence[-1] in ".!?:" else sentence + "."


# ---- examples ---------------------------------------------------------------------------------------------------------


def examples(folder="docs/examples"):
    """name -> (words for NAME, code, file)"""
    found, wrong = {}, []
    for file in sorted(os.listdir(folder)):
        if not file.endswith(".c"):
            continue
        path = os.path.join(folder, file)
        with open(path, encoding="utf-8") as source:
            parts = re.split(r"(?m)^(/\*(?:\n \*)? vigil_\w+: .*?\*/|/\* ---- .*?\*/)\n", source.read(), flags=re.S)
        for head, code in zip(parts[1::2], parts[2::2]):
            if head.startswith("/* ----"):
                continue
            for name, words in re.findall(r"(vigil_\w+): (.*?)(?=\s*\*/|\s*\n \*\s+vigil_\w+:)", head, flags=re.S):
                if name in found:
                    wrong.append(f"{path}: a second example of {name}")
                wide = [line for line in code.split("\n") if len(line) > WIDTH]
                if wide:
                    wrong.append(f"{path}: {name}: wider than {WIDTH} columns: {wide[0].strip()}")
                found[name] = (re.sub(r"\s*\n \*\s*", " ", words), code.strip("\n"), path)
    return found, wrong


# ---- pages ------------------------------------------------------------------------------------------------------------


class Manual:
    def __init__(self):
        self.headers = headers.read_all()
        self.items = {item.name: item for header in self.headers for item in header.items}
        self.examples, self.wrong = examples()
        base = next(header for header in self.headers if header.name in ("vigil/base.h", "vigil/base.h"))
        self.errors = {row[0]: row[1] for kind, rows in blocks(base.text) if kind == "rows" for row in rows
                       if re.fullmatch(r"-E[A-Z]+", row[0])}

    def threads_of(self, header, item):
        """Where a function says nothing itself: its section, or its header, says it for all."""
        title = re.search(r"\((?:all: )?(owner|any thread)\)", item.section)
        if title:
            return [title.group(1).capitalize() + "."]
        intro = sorted_comment(item.intro)[2] if item.intro else []
        if intro:
            return intro
        for sentence in sentences(" ".join(header.text.split())):
            if re.match(r"Every call here may be made by any thread", sentence):
                return ["Any thread."]
        return []

    def see_also(self, item):
        header = item.header
        around = [one for one in header.functions() if one.section == item.section and one is not item]
        mine = [one.name for one in header.functions()]
        at = mine.index(item.name)
        around.sort(key=lambda one: (os.path.commonprefix([one.name, item.name]).count("_") < 2, abs(mine.index(one.name) - at)))
        named = [name for name in re.findall(r"\bvigil_\w+", item.comment) if name in self.items and name != item.name
                 and self.items[name].kind == "function"]
        out = []
        for name in named + [one.name for one in around[:4]]:
            if name not in out:
                out.append(name)
        return out[:8]

    def function(self, item):
        header = item.header
        if not item.comment:
            self.wrong.append(f"{header.path}: {item.name} has no comment above it")
        described, results, threads = sorted_comment(item.comment)
        if item.intro:
            more, more_results, more_threads = sorted_comment(item.intro)
            described += more
            results = results or more_results
            threads = threads or more_threads
        threads = threads or self.threads_of(header, item)
        result = re.match(r"(.*?)\bvigil_\w+\s*\(", prototype(item.text), flags=re.S).group(1).strip()
        if not result.endswith(("*", "_value")):
            # "NULL: …" is about a parameter here.
            described += [("p", finished("NULL: " + row[1])) for row in results if row[0] == "NULL"]
            results = [row for row in results if row[0] != "NULL"]
        if not threads:
            self.wrong.append(f"{header.path}: {item.name} does not say which thread may call it")
        summary, code, _ = self.examples.get(item.name, ("", "", ""))
        if not code:
            self.wrong.append(f"docs/examples: no example of {item.name}")
        page = [("h", "Name"), ("name", item.name, summary or self.first(item)),
                ("h", "Synopsis"), ("code", f"#include <{header.name}>\n\n{prototype(item.text)}"),
                ("h", "Description")]
        described = described or [("p", finished(self.first(item)))]
        if described[0][0] == "p" and re.match(r"The same\b[,:]?", described[0][1]):
            # On a page of its own it must say as what.
            described[0] = ("p", re.sub(r"^The same\b[,:]?", f"As {self.before(item)}(),", described[0][1]))
        page += described
        for name in self.types_of(item):
            listed = [(f"`{text}`", finished(words)) for text, words in members(self.items[name].text) if words]
            if listed:
                kind = "The values of" if self.items[name].kind == "enum" else "The members of"
                page += [("p", f"{kind} {name}:"), ("rows", listed)]
        page += [("h", "Return value")]
        if result == "void":
            page.append(("p", "None."))
        else:
            rows = [row for row in results if row[0]]
            if rows and all(row[0] == "NULL" for row in rows):
                page.append(("p", finished(sentences(" ".join(item.comment.split()))[0])))
            further = [("p", finished(row[1])) for row in results if not row[0]]
            page += [one for one in further if not one[1].startswith("And ")]
            if rows:
                page.append(("rows", [(code_, finished(words or self.meaning(code_))) for code_, words in rows]))
            page += [one for one in further if one[1].startswith("And ")]
            if not results:
                page.append(("p", finished(self.said(described, item))))
        page += [("h", "Threads")] + [("p", " ".join(finished(one) for one in threads))]
        if code:
            page += [("h", "Example"), ("code", code)]
        page += [("h", "See also"), ("see", self.see_also(item), [header.page], GUIDES.get(header.page[6:], []))]
        return page

    def before(self, item):
        """The function that "the same" means: the last one before it that says more."""
        functions = item.header.functions()
        at = functions.index(item) - 1
        while functions[at].comment.startswith("The same"):
            at -= 1
        return functions[at].name

    def meaning(self, code):
        if code == "0":
            return "Success"
        return "; ".join(self.errors.get(one) or os.strerror(getattr(errno, one[1:])).lower()
                         for one in re.findall(r"-E[A-Z0-9]+", code)) or code

    def said(self, described, item):
        for kind, block in described:
            for sentence in sentences(block) if kind == "p" else []:
                if re.search(r"\breturns?\b", sentence):
                    return sentence
        return sentences(" ".join(item.comment.split()))[0]

    def types_of(self, item):
        """Option structs and enums that stand in its prototype: their members belong on the page."""
        found = []
        for name in re.findall(r"\bvigil_\w+", prototype(item.text))[0:]:
            other = self.items.get(name)
            if other is not None and name not in found and other.header is item.header and (
                    (other.kind == "struct" and name.endswith(("_options", "_calls", "_handlers"))) or
                    (other.kind == "enum" and name.endswith(("_mode", "_policy")))):
                found.append(name)
        return found

    def first(self, item):
        first = sentences(" ".join(item.comment.split()))[0].rstrip(".") if item.comment else item.name
        return first if len(first) < 64 else re.split(r"[;:,(]", first)[0].strip()

    def header(self, header):
        page = [("h", "Name"), ("name", header.page, header.purpose), ("h", "Synopsis"), ("code", f"#include <{header.name}>"),
                ("h", "Description")]
        page += blocks(header.text)
        rows = [(item.name, self.examples.get(item.name, (self.first(item),))[0]) for item in header.functions()]
        if rows:
            page += [("h", "Functions"), ("functions", rows)]
        types = [item for item in header.items if item.kind != "function"]
        if types:
            page.append(("h", "Types and macros"))
        for item in types:
            page += self.type(item)
        page += [("h", "See also"), ("see", [], [other.page for other in self.headers if other is not header],
                                     GUIDES.get(header.page[6:], []))]
        return page

    def type(self, item):
        out = [("anchor", item.name)]
        if item.kind in ("callback", "type"):
            out.append(("code", prototype(item.text)))
        elif item.kind == "macro":
            # What a macro is made of is of no use to a reader, unless it is a number.
            line = " ".join(item.text.replace("\\\n", " ").split())
            line = re.sub(r"/\*.*?\*/", "", line).strip()
            shown = re.match(r"#define \w+(\([^)]*\))?", line).group(0)
            out.append(("code", line if re.fullmatch(r"#define \w+ \(?-?\w+\)?", line) else shown))
            behind = re.search(r"/\*(.*?)\*/", item.text, flags=re.S)
            if behind:
                out.append(("p", finished(" ".join(behind.group(1).split()))))
        else:
            listed = members(item.text)
            if item.kind == "struct" and not listed:
                out.append(("code", f"struct {item.name}; /* its members are the library's */"))
            else:
                out.append(("p", f"{'enum' if item.kind == 'enum' else 'struct'} {item.name}"))
                out.append(("rows", [(f"`{text}`", finished(words)) for text, words in listed]))
        return out + blocks(item.comment)


# ---- for man ----------------------------------------------------------------------------------------------------------


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("`", "")
    return re.sub(r"^([.'])", r"\\&\1", text)


def roff_words(text):
    """Names in bold."""
    parts = re.split(r"(`[^`]*`|\bvigil_\w+(?:\(\))?|\bVIGIL_\w+|-E[A-Z]+\b)", text)
    out = "".join(part if number % 2 == 0 else f"\\fB{part.strip('`')}\\fP" for number, part in enumerate(parts))
    out = re.sub(r"\\(?!f[BPI])", r"\\e", out).replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", out)


def man_page(name, page, version):
    out = [f'.TH {name.replace("-", chr(92) + "-")} 3 "" "vigil {version}" "Vigil"', ".nh", ".ad l"]
    for kind, *rest in page:
        if kind == "h":
            out.append(".SH " + rest[0].upper())
        elif kind == "name":
            out.append(f"{roff(rest[0])} \\- {roff(rest[1])}")
        elif kind == "anchor":
            out.append(f".SS {roff(rest[0])}")
        elif kind == "p":
            out += [".PP", roff_words(rest[0])]
        elif kind == "code":
            out += [".PP", ".EX", *(roff(line) if line else "" for line in rest[0].split("\n")), ".EE"]
        elif kind in ("rows", "functions"):
            for row in rest[0]:
                cells = [cell for cell in row[1:] if cell]
                term = re.sub(r"`", "", row[0]) + ("(3)" if kind == "functions" else "")
                out += [".TP", f"\\fB{roff(term)}\\fP", roff_words(" \\- ".join(cells)).replace("\\e\\-", "\\-") if cells else "\\&"]
        elif kind == "see":
            names = [f".BR {roff(one)} (3)" for one in rest[0] + rest[1]]
            out += [line + (" ," if number + 1 < len(names) else "") for number, line in enumerate(names)]
    text = "\n".join(out)
    return re.sub(r"(?m)^(\.BR \S+) \(3\) ,$", r"\1 (3),", text) + "\n"


# ---- for the site -----------------------------------------------------------------------------------------------------


def escape(text):
    return re.sub(r"([*_<>\[\]\\|])", r"\\\1", text)


def words(text):
    parts = re.split(r"(`[^`]*`|\bvigil_\w+(?:\(\))?|\bVIGIL_\w+|-E[A-Z]+\b)", text)
    return "".join(escape(part) if number % 2 == 0 else "`" + part.strip("`") + "`" for number, part in enumerate(parts))


def markdown(name, page):
    out = [f"# {escape(name)}(3)"]
    for kind, *rest in page:
        if kind == "h":
            out.append("## " + rest[0])
        elif kind == "name":
            out.append(f"`{rest[0]}` – {words(rest[1])}")
        elif kind == "anchor":
            # lowdown's own anchors are in lower case.
            if rest[0] != rest[0].lower():
                out.append(f'<a id="{rest[0]}"></a>')
            out.append(f"### {escape(rest[0])}")
        elif kind == "p":
            out.append(words(rest[0]))
        elif kind == "code":
            out.append("```c\n" + rest[0] + "\n```")
        elif kind == "functions":
            out.append("\n".join(f'- <a id="{one}"></a>`{one}` – {words(text)}' for one, text in rest[0]))
        elif kind == "rows":
            if len(rest[0][0]) > 2:
                head, *lines = rest[0]
                table = [head, ["---"] * len(head), *lines]
                out.append("\n".join("| " + " | ".join(words(cell) if cell != "---" else cell for cell in row) + " |" for row in table))
            else:
                out.append("\n".join(
                    f"- **{words(row[0])}**" + (f" {words(row[1])}" if row[1] else "") for row in rest[0]))
        elif kind == "see":
            pages = [f"`{one}`" for one in rest[0]] + [f"[{one}](include/vigil/{one[6:]}.h)" for one in rest[1]]
            pages += [f"[{one}](docs/{one}.md)" for one in rest[2]]
            out.append(", ".join(pages))
    return "\n\n".join(out) + "\n"


def main(folder, version):
    manual = Manual()
    man, site = os.path.join(folder, "man", "man3"), os.path.join(folder, "manual")
    for path in (man, site):
        os.makedirs(path, exist_ok=True)

    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    for header in manual.headers:
        pages = [(header.page, manual.header(header))]
        pages += [(item.name, manual.function(item)) for item in header.functions()]
        for name, page in pages:
            write(os.path.join(man, name + ".3"), man_page(name, page, version))
            write(os.path.join(site, name + ".md"), markdown(name, page))
        for item in header.items:
            if item.kind != "function":
                write(os.path.join(man, item.name + ".3"), f".so man3/{header.page}.3\n")
    for name in manual.examples:
        if name not in manual.items or manual.items[name].kind != "function":
            manual.wrong.append(f"{manual.examples[name][2]}: {name} is not a public function")
    for line in manual.wrong:
        print("docs:", line, file=sys.stderr)
    return 1 if manual.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2]))
