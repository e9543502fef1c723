"""The page in a real browser: all figures drawn, nothing too wide, no error, no request."""

from __future__ import annotations

import shutil

import pytest

from onega.pages import to_html

webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed")

from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

FLAGS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--host-resolver-rules=MAP * ~NOTFOUND")  # fmt: skip
PATIENCE = 120

DRAWN = """return document.querySelectorAll('.plot.js-plotly-plot .main-svg').length > 0 &&
  document.querySelectorAll('.plot.js-plotly-plot').length ==
  document.querySelectorAll('.plot').length"""


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no Chromium with its driver here (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    found = webdriver.Chrome(options=options, service=Service(chromedriver))
    found.set_page_load_timeout(PATIENCE)
    yield found
    found.quit()


@pytest.mark.parametrize("width", [1200, 400])
def test_the_report_in_a_browser(made, driver, tmp_path, width):
    path = tmp_path / "report.html"
    path.write_text(to_html(made.document()), encoding="utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get(path.as_uri())
    WebDriverWait(driver, PATIENCE).until(lambda one: one.execute_script(DRAWN))
    wide = driver.execute_script("return document.documentElement.scrollWidth")
    assert wide <= width
    errors = [one["message"] for one in driver.get_log("browser") if one["level"] == "SEVERE"]
    assert errors == []
    asked = driver.execute_script(
        "return performance.getEntriesByType('resource').map(r => r.name)"
    )
    assert [one for one in asked if not one.startswith(("data:", "blob:"))] == []
    anchors = driver.execute_script(
        "return [...document.querySelectorAll('nav a')].every(a => document.querySelector(a.hash))"
    )
    assert anchors


TOUCHING = """
  const bad = [];
  for (const axis of document.querySelectorAll('.plot g.xaxislayer-above')) {
    const boxes = [...axis.querySelectorAll('text')]
      .map(t => [t.getBoundingClientRect(), t.textContent])
      .filter(([b]) => b.width > 0).sort((a, b) => a[0].left - b[0].left);
    boxes.slice(1).forEach(([b, text], n) => {
      const [before, first] = boxes[n];
      const level = Math.abs(b.top - before.top) < 5;
      if (level && b.left < before.right - 0.5) bad.push(first + '|' + text);
    });
  }
  return bad;"""


@pytest.mark.parametrize("width", [1400, 400])
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_report_looks_as_it_should(made, driver, tmp_path, width, theme):
    """Marks of axes don't touch, six facts are two rows of three, tables say there is more."""
    path = tmp_path / "report.html"
    path.write_text(to_html(made.document()), encoding="utf-8")
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wanted = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", wanted)
    driver.get(path.as_uri())
    WebDriverWait(driver, PATIENCE).until(lambda one: one.execute_script(DRAWN))
    WebDriverWait(driver, PATIENCE).until(lambda one: one.execute_script(TOUCHING) == [])
    tops = driver.execute_script(
        "return [...document.querySelectorAll('#short .facts > div')].map(d => d.offsetTop)"
    )
    rows = [tops.count(top) for top in sorted(set(tops))]
    assert len(tops) == 6
    assert rows == ([3, 3] if width > 900 else [1] * 6)
    paper = driver.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert paper == ("rgb(255, 255, 255)" if theme == "light" else "rgb(15, 21, 27)")
    shadows = driver.execute_script(
        "return [...document.querySelectorAll('.scroll')].every(one => "
        "getComputedStyle(one).backgroundImage.includes('gradient'))"
    )
    assert shadows
