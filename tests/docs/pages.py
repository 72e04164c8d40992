# SPDX-License-Identifier: MIT
"""pages.py <site>: every page of the site in a browser, 1280 and 390 pixels wide. Nothing is clipped: no element is wider inside than
outside, and none reaches beyond the window. CHROMIUM and CHROMEDRIVER name the programs.

The pages are shown in frames of these widths, some at once: loading each as a page of its own takes five times as long."""
import os
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("left out: selenium is missing (Debian: python3-selenium)")
    sys.exit(77)

WIDTHS = (1280, 390)
AT_ONCE = 10
# An inline element has no width of its own; what it holds shows in the block around it.
LOOK = """
const [names, widths, done] = arguments;
function look(frame, name, width) {
  const window = frame.contentWindow, document = frame.contentDocument, wide = [];
  if (window.innerWidth !== width || !document.body.textContent.trim()) return [`${name}: not shown at ${width} pixels`];
  if (!document.querySelector('meta[name=viewport][content*="width=device-width"]')) // a telephone would show it as if it were 980 wide
    return [`${name}: has no viewport`];
  for (const element of document.querySelectorAll('body, body *')) {
    const style = window.getComputedStyle(element);
    if (style.display === 'none' || style.display === 'inline' || !element.getClientRects().length) continue;
    const reaches = element.getBoundingClientRect().right;
    if ((element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) || reaches > window.innerWidth + 1)
      wide.push(`${name} at ${width} pixels: ${element.tagName} ${element.className} ${element.scrollWidth} > ${element.clientWidth}: `
                + element.textContent.trim().slice(0, 60));
  }
  return wide.slice(0, 5);
}
const shown = [];
for (const name of names)
  for (const width of widths)
    shown.push(new Promise((resolve) => {
      const frame = document.createElement('iframe');
      frame.style.cssText = `width: ${width}px; height: 900px; border: 0`;
      frame.onload = () => { const found = look(frame, name, width); frame.remove(); resolve(found); };
      frame.src = name;
      document.body.append(frame);
    }));
Promise.all(shown).then((found) => done(found.flat()), (error) => done([String(error)]));
"""


def main(site):
    options = Options()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                 "--allow-file-access-from-files"):  # the last one: a file may look into its frames
        options.add_argument(word)
    browser = webdriver.Chrome(service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")), options=options)
    wrong, names = [], sorted(name for name in os.listdir(site) if name.endswith(".html"))
    assert len(names) > 200, f"only {len(names)} pages in {site}"
    try:
        # The index is large and shows nothing until somebody searches.
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*search-index.js", "*lunr.min.js"]})
        browser.set_script_timeout(300)
        browser.get(f"file://{os.path.abspath(site)}/{names[0]}")
        browser.execute_script("document.body.replaceChildren()")
        for first in range(0, len(names), AT_ONCE):
            wrong += browser.execute_async_script(LOOK, names[first:first + AT_ONCE], WIDTHS)
    finally:
        browser.quit()
    for line in wrong[:40]:
        print(line)
    print(f"{len(names)} pages at {len(WIDTHS)} widths: {len(wrong)} places are clipped")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
