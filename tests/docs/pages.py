# SPDX-License-Identifier: MIT
"""pages.py <site>: every page of the site in a browser of 1280 and of 390 pixels. Nothing is clipped: no element is wider inside than
outside, and none reaches beyond the window. CHROMIUM and CHROMEDRIVER name the programs."""
import os
import sys

try:
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service
except ImportError:
    print("left out: selenium is missing (Debian: python3-selenium)")
    sys.exit(77)

# An inline element has no width of its own; what it holds shows in the block around it.
LOOK = """
const wide = [];
for (const element of document.querySelectorAll('body, body *')) {
  const style = getComputedStyle(element);
  if (style.display === 'none' || style.display === 'inline' || !element.getClientRects().length) continue;
  const reaches = element.getBoundingClientRect().right;
  if ((element.clientWidth > 0 && element.scrollWidth > element.clientWidth + 1) || reaches > window.innerWidth + 1)
    wide.push(`${element.tagName} ${element.className} ${element.scrollWidth} > ${element.clientWidth}: `
              + element.textContent.trim().slice(0, 60));
}
return wide.slice(0, 5);
"""


def main(site):
    options = Options()
    options.binary_location = os.environ.get("CHROMIUM", "/usr/bin/chromium")
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(word)
    browser = webdriver.Chrome(service=Service(os.environ.get("CHROMEDRIVER", "/usr/bin/chromedriver")), options=options)
    wrong, names = [], sorted(name for name in os.listdir(site) if name.endswith(".html"))
    assert len(names) > 200, f"only {len(names)} pages in {site}"
    try:
        # The index is large and shows nothing until somebody searches.
        browser.execute_cdp_cmd("Network.enable", {})
        browser.execute_cdp_cmd("Network.setBlockedURLs", {"urls": ["*search-index.js", "*lunr.min.js"]})
        for name in names:
            browser.get(f"file://{os.path.abspath(site)}/{name}")
            for width in (1280, 390):
                # The window cannot be made so narrow everywhere; the screen that is shown in it can.
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride",
                                        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500})
                assert browser.execute_script("return window.innerWidth") == width
                wrong += [f"{name} at {width} pixels: {line}" for line in browser.execute_script(LOOK)]
    finally:
        browser.quit()
    for line in wrong[:40]:
        print(line)
    print(f"{len(names)} pages at 2 widths: {len(wrong)} places are clipped")
    return 1 if wrong else 0


sys.exit(main(sys.argv[1]))
