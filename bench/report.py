"""The report: how large, how long it takes to make, how long a browser takes to show it.

    python bench/report.py [LOG]

Without a log, the demonstration's jobs. The browser's part needs Chromium, its driver and selenium,
and says so where they are missing.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from pathlib import Path

import onega
from onega.pages import to_html


def make(log: onega.Workload) -> str:
    made = onega.site_report(log)
    return to_html(made.document())


def browser_times(page: Path) -> dict[str, float]:
    """Seconds until the first text, and until all figures are drawn, in headless Chromium."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    options = Options()
    options.binary_location = shutil.which("chromium") or ""
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--window-size=1200,900",
                 "--disable-background-networking", "--no-first-run"):  # fmt: skip
        options.add_argument(flag)
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        driver.get(page.as_uri())
        ready = (
            "return document.querySelectorAll('.plot.js-plotly-plot').length == "
            "document.querySelectorAll('.plot').length"
        )
        while not driver.execute_script(ready):
            time.sleep(0.02)
        drawn = driver.execute_script("return performance.now()")
        paint = driver.execute_script(
            "return performance.getEntriesByName('first-contentful-paint')[0].startTime"
        )
        return {"first text": paint / 1000, "all figures": drawn / 1000}
    finally:
        driver.quit()


def main() -> None:
    if len(sys.argv) > 1:
        log = onega.read(sys.argv[1])
    else:
        from onega.cli.views.demo import make_jobs

        log = make_jobs()
    make(log)  # compiles
    wall, cpu = time.perf_counter(), time.process_time()
    page = make(log)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    print(f"report of {len(log):,} jobs: {len(page.encode()) / 1e6:.1f} MB")
    print(f"  made in {wall:.1f} s ({cpu:.1f} s of processor time)")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        path.write_text(page, encoding="utf-8")
        try:
            for what, seconds in browser_times(path).items():
                print(f"  in the browser, {what}: {seconds:.2f} s")
        except Exception as error:  # no browser here: say so, it is no failure of the report
            print(f"  the browser was not measured: {type(error).__name__}: {str(error)[:80]}")


if __name__ == "__main__":
    main()
