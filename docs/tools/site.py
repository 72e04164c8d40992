#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""site.py <folder> <version>: the static site in <folder>/site, from README.md, docs/**/*.md and <folder>/manual/*.md.

A page is lowdown's HTML in a frame with one navigation. Links between the Markdown files become links between the pages; a
link to a file of the repository that is no page is shown as plain words, since the site travels without the sources. The name of
a public function, type or macro in code type becomes a link to its page. A link or an anchor that leads nowhere ends this with
an error.
"""
import html
import json
import os
import re
import shutil
import subprocess
import sys

import headers

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – Vigil {version}</title>
<link rel="stylesheet" href="site.css">
{scripts}</head>
<body>
<nav>
<a class="home" href="index.html">Vigil <small>{version}</small></a>
<input type="checkbox" id="menu"><label class="menu" for="menu">Pages</label>
<input type="search" id="search" placeholder="Search (press /)" aria-label="Search the documentation" autocomplete="off" hidden>
<ol id="found" hidden></ol>
<div class="pages">
{navigation}
</div>
</nav>
<main>
{body}
{onward}
</main>
</body>
</html>
"""
SCRIPTS = """<script defer src="lunr.min.js"></script>
<script defer src="search-index.js"></script>
<script defer src="search.js"></script>
"""
LUNR = "/usr/share/javascript/lunr/lunr.min.js"

# The order in which a reader needs them; what is not named comes behind.
ORDER = ["guide", "flow", "parallel", "priorities", "shutdown", "loop", "promise", "async", "sharing", "cpp", "js", "embedding", "porting", "watching", "doctor", "command",
         "costs", "figures", "the-hang", "glossary", "contract", "architecture"]


# Pages of functions, and the page of the header that each belongs to.
PARENT = {}


def render(path):
    return subprocess.run(["lowdown", "-thtml", "--html-no-skiphtml", "--html-no-escapehtml", path],
                          check=True, capture_output=True, text=True).stdout


def title_of(text, fallback):
    found = re.search(r"^# (.+)$", text, flags=re.M)
    return found.group(1).strip() if found else fallback


def collect(folder):
    """Pages as (source path, output name, title, group), in the order of the navigation."""
    pages = [("README.md", "index.html", "Vigil", "Start")]
    def rank(name):
        return (ORDER.index(name[:-3]) if name[:-3] in ORDER else len(ORDER), name)
    for root, _, names in sorted(os.walk("docs")):
        for name in sorted(names, key=rank):
            path = os.path.join(root, name)
            if not name.endswith(".md"):
                continue
            with open(path, encoding="utf-8") as file:
                title = title_of(file.read(), name)
            inner = os.path.relpath(root, "docs")
            group = "Guides" if inner == "." else inner[0].upper() + inner[1:]
            flat = (name if inner == "." else inner.replace(os.sep, "-") + "-" + name)[:-3] + ".html"
            pages.append((path, flat, title, group))
    for header in headers.read_all():
        of = header.page + ".3.html"
        for name in [header.page] + [item.name for item in header.functions()]:
            pages.append((os.path.join(folder, "manual", name + ".md"), name + ".3.html", name + "(3)", "Manual"))
            PARENT[name + ".3.html"] = of
    for path, title in (("CHANGELOG.md", "Changes"), ("CONTRIBUTING.md", "Contributing"), ("check/README.md", "The checker"),
                        ("bench/README.md", "The benchmarks"), ("src/pool/IDLE.md", "Why no wake-up is lost: the pool"),
                        ("src/loop/SLEEP.md", "Why no wake-up is lost: the loop")):
        if os.path.exists(path):
            pages.append((path, path.replace("/", "-").rsplit(".", 1)[0] + ".html", title, "Inside"))
    return pages


def navigation(pages, current):
    out, last = [], None
    for _, name, title, group in pages:
        inner = PARENT.get(name, name) != name
        if inner and PARENT[name] != PARENT.get(current):
            continue
        if group != last:
            out.append(f"<strong>{html.escape(group)}</strong>")
            last = group
        mark = ' aria-current="page"' if name == current else ""
        kind = ' class="inner"' if inner else ""
        out.append(f'<a href="{name}"{kind}{mark}>{html.escape(title.removesuffix("(3)") if inner else title)}</a>')
    return "\n".join(out)


def onward(pages, current):
    """To the page before and the page after."""
    at = [name for _, name, _, _ in pages].index(current)
    before = f'<a href="{pages[at - 1][1]}">← {html.escape(pages[at - 1][2])}</a>' if at > 0 else "<span></span>"
    after = f'<a href="{pages[at + 1][1]}">{html.escape(pages[at + 1][2])} →</a>' if at + 1 < len(pages) else ""
    return f'<div class="onward">{before}{after}</div>'


def words(text):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", text)).split())


def sections(name, title, body):
    """What the search finds: every part of a page that has a heading."""
    parts = re.split(r'<h[1-3][^>]*?(?: id="([^"]*)")?[^>]*>(.*?)</h[1-3]>', body, flags=re.S)
    found = []
    for anchor, heading, text in zip(parts[1::3], parts[2::3], parts[3::3]):
        at = f"{name}#{anchor}" if anchor and found else name
        found.append({"at": at, "page": title, "heading": words(heading), "text": words(text)})
    return found


def places():
    """Where a public name is explained."""
    found = {}
    for header in headers.read_all():
        for item in header.items:
            found[item.name] = f"{item.name}.3.html" if item.kind == "function" else f"{header.page}.3.html#{item.name}"
            if item.kind == "enum":
                for text, _ in headers.members(item.text):
                    found[text.split()[0]] = found[item.name]
    return found


def with_names(body, name, known):
    """Public names in code type as links; headings, links and blocks of code are left alone."""
    def one(match):
        if match.group(1) is None:
            return match.group(0)
        at = known.get(match.group(1))
        if at is None or at.split("#")[0] == name and "#" not in at:
            return match.group(0)
        return f'<a class="name" href="{at}">{match.group(0)}</a>'
    return re.sub(r"<(?:a|pre|h[1-6])\b.*?</(?:a|pre|h[1-6])>|<code>(\w+)(?:\(\))?</code>", one, body, flags=re.S)


def with_labels(body):
    """Each cell of a table says which column it is in, for narrow screens."""
    def table(match):
        heads = [words(head) for head in re.findall(r"<th\b[^>]*>(.*?)</th>", match.group(0), flags=re.S)]
        def row(found):
            cells = iter(heads)
            return re.sub(r"<td\b", lambda _: f'<td data-label="{html.escape(next(cells, ""))}"', found.group(0))
        return re.sub(r"<tr>.*?</tr>", row, match.group(0), flags=re.S)
    return re.sub(r"<table>.*?</table>", table, body, flags=re.S)


def with_fragments(body):
    """What is no program by itself looks like it."""
    return re.sub(r'<pre>(<code class="language-\w+ (?:part|body)\b)', r'<pre class="fragment">\1', body)


def main(folder, version):
    site = os.path.join(folder, "site")
    pages = collect(folder)
    by_source = {os.path.normpath(source): name for source, name, _, _ in pages}
    for header in headers.read_all():
        by_source[header.path] = header.page + ".3.html"
    known = places()
    shutil.copy("docs/tools/site.css", site)
    if os.path.isdir("docs/images"):
        shutil.copytree("docs/images", os.path.join(site, "images"), dirs_exist_ok=True)
    bodies, wrong = {}, []
    for source, name, title, _ in pages:
        base = "" if name in PARENT else os.path.dirname(source)

        def link(match, source=source, base=base):
            before, target, text = match.group(1), html.unescape(match.group(2)), match.group(3)
            if re.match(r"[a-z]+:", target):
                return match.group(0)
            path, _, anchor = target.partition("#")
            if not path:
                return match.group(0)
            path = os.path.normpath(os.path.join(base, path))
            if path in by_source:
                return f'<a {before}href="{by_source[path]}{"#" + anchor if anchor else ""}">{text}</a>'
            if not os.path.exists(path):
                wrong.append(f"{source}: links to {target}, which does not exist")
            return text

        body = re.sub(r'<a ([^>]*?)href="([^"]*)"[^>]*>(.*?)</a>', link, render(source), flags=re.S)
        body = re.sub(r'src="(?:\.\./)?(?:docs/)?images/', 'src="images/', body)
        for image in re.findall(r'<img[^>]*src="([^":]+)"', body):
            if not os.path.exists(os.path.join(site, image)):
                wrong.append(f"{source}: shows {image}, which does not exist")
        body = with_fragments(with_labels(with_names(body, name, known)))
        if "<h1" not in body:
            body = f"<h1>{html.escape(title)}</h1>\n" + body
        bodies[name] = (title, body)
    search = os.path.exists(LUNR)
    if search:
        shutil.copy(LUNR, site)
        shutil.copy("docs/tools/search.js", site)
        found = [section for name, (title, body) in bodies.items() for section in sections(name, title, body)]
        with open(os.path.join(site, "search-index.js"), "w", encoding="utf-8") as file:
            file.write("const searchSections = " + json.dumps(found, ensure_ascii=False).replace("</", "<\\/") + ";\n")
    else:
        print("docs: left out: the site's search, because lunr is missing (Debian: libjs-lunr)")
    for name, (title, body) in bodies.items():
        for target, anchor in re.findall(r'href="([\w.-]*)#([^"]+)"', body):
            there = bodies.get(target or name)
            if there is None or f'id="{anchor}"' not in there[1]:
                wrong.append(f"{name}: links to {target}#{anchor}, and there is no such place")
        with open(os.path.join(site, name), "w", encoding="utf-8") as file:
            file.write(FRAME.format(title=html.escape(title), version=version, scripts=SCRIPTS if search else "", body=body,
                                    navigation=navigation(pages, name), onward=onward(pages, name)))
    for line in wrong:
        print("docs:", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: site.py <folder> <version>")
    sys.exit(main(sys.argv[1], sys.argv[2]))
