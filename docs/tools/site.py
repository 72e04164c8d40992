#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""site.py <folder> <version>: the static site in <folder>/site, from README.md, docs/*.md and <folder>/headers/*.md.

A page is lowdown's HTML in a frame with one navigation. Links between the Markdown files become links between the pages; a
link to a file of the repository that is no page is shown as plain words, since the site travels without the sources. A link or
an anchor that leads nowhere ends this with an error.
"""
import html
import os
import re
import shutil
import subprocess
import sys

FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} – Vigil {version}</title>
<link rel="stylesheet" href="site.css">
</head>
<body>
<nav>
{navigation}
</nav>
<main>
{body}
</main>
</body>
</html>
"""


def render(path):
    return subprocess.run(["lowdown", "-thtml", "--html-no-skiphtml", "--html-no-escapehtml", path],
                          check=True, capture_output=True, text=True).stdout


def title_of(text, fallback):
    found = re.search(r"^# (.+)$", text, flags=re.M)
    return found.group(1).strip() if found else fallback


def collect(folder):
    """Pages as (source path, output name, title, group), in the order of the navigation."""
    pages = [("README.md", "index.html", "Vigil", "Start")]
    for root, _, names in sorted(os.walk("docs")):
        for name in sorted(names):
            path = os.path.join(root, name)
            if not name.endswith(".md"):
                continue
            with open(path, encoding="utf-8") as file:
                title = title_of(file.read(), name)
            inner = os.path.relpath(root, "docs")
            group = "Guides" if inner == "." else inner[0].upper() + inner[1:]
            flat = (name if inner == "." else inner.replace(os.sep, "-") + "-" + name)[:-3] + ".html"
            pages.append((path, flat, title, group))
    headers = os.path.join(folder, "headers")
    for name in sorted(os.listdir(headers)):
        pages.append((os.path.join(headers, name), name[:-3] + ".3.html", name[:-3] + "(3)", "Manual"))
    for path, title in (("CHANGELOG.md", "Changes"), ("CONTRIBUTING.md", "Contributing"), ("check/README.md", "The checker"),
                        ("bench/README.md", "The benchmarks"), ("src/pool/IDLE.md", "Why no wake-up is lost: the pool"),
                        ("src/loop/SLEEP.md", "Why no wake-up is lost: the loop")):
        if os.path.exists(path):
            pages.append((path, path.replace("/", "-").rsplit(".", 1)[0] + ".html", title, "Inside"))
    return pages


def navigation(pages, current):
    out, last = [], None
    for _, name, title, group in pages:
        if group != last:
            out.append(f"<strong>{html.escape(group)}</strong>")
            last = group
        mark = ' aria-current="page"' if name == current else ""
        out.append(f'<a href="{name}"{mark}>{html.escape(title)}</a>')
    return "\n".join(out)


def main(folder, version):
    site = os.path.join(folder, "site")
    pages = collect(folder)
    by_source = {os.path.normpath(source): name for source, name, _, _ in pages}
    for header in os.listdir(os.path.join(folder, "headers")):
        by_source["include/vigil/" + header[len("vigil_"):-3] + ".h"] = header[:-3] + ".3.html"
    shutil.copy("docs/tools/site.css", site)
    if os.path.isdir("docs/images"):
        shutil.copytree("docs/images", os.path.join(site, "images"), dirs_exist_ok=True)
    bodies, wrong = {}, []
    for source, name, title, _ in pages:
        base = os.path.dirname(source)

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
        if "<h1" not in body:
            body = f"<h1>{html.escape(title)}</h1>\n" + body
        bodies[name] = (title, body)
    for name, (title, body) in bodies.items():
        for target, anchor in re.findall(r'href="([\w.-]*)#([^"]+)"', body):
            there = bodies.get(target or name)
            if there is None or f'id="{anchor}"' not in there[1]:
                wrong.append(f"{name}: links to {target}#{anchor}, and there is no such place")
        with open(os.path.join(site, name), "w", encoding="utf-8") as file:
            file.write(FRAME.format(title=html.escape(title), version=version, navigation=navigation(pages, name), body=body))
    for line in wrong:
        print("docs:", line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: site.py <folder> <version>")
    sys.exit(main(sys.argv[1], sys.argv[2]))
