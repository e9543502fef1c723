"""The page in a real Chromium: upload, run, compare, zoom, download; messages; keyboard; screens.

Screenshots are left in ``test-artefacts/`` beside the tests.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import onega

selenium = pytest.importorskip("selenium")

from selenium import webdriver  # noqa: E402
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402
from selenium.webdriver.support.ui import WebDriverWait  # noqa: E402

ARTEFACTS = Path(__file__).resolve().parents[2] / "test-artefacts"
PATIENCE = 90
WIDE, NARROW = (1300, 900), (400, 800)
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--no-default-browser-check",
)


class Browser:
    """A Chromium, and what a reader does with it."""

    def __init__(self, driver, address, downloads):
        self.driver = driver
        self.address = address
        self.downloads = downloads

    def open(self, path):
        self.driver.get(self.address + path)

    def until(self, condition, what=""):
        return WebDriverWait(self.driver, PATIENCE, poll_frequency=0.1).until(
            lambda _: condition(), what
        )

    def find(self, css):
        return self.until(lambda: self.driver.find_elements(By.CSS_SELECTOR, css), css)[0]

    def all(self, css):
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def text(self, css):
        return self.find(css).text

    def click(self, css):
        self.press(self.find(css))

    def press(self, element):
        place = "{block: 'center', behavior: 'instant'}"
        self.driver.execute_script(f"arguments[0].scrollIntoView({place})", element)
        element.click()

    def resize(self, size, *, dark=False):
        metrics = {"width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": False}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})

    def picture(self, name):
        ARTEFACTS.mkdir(exist_ok=True)
        self.driver.save_screenshot(str(ARTEFACTS / f"{name}.png"))

    def viewer_ready(self):
        """Wait until the schedules are drawn; return the length of the stretch in view."""
        viewer = "[data-viewer][data-state=ready]"
        self.until(lambda: self.all(viewer), "the schedules")
        return float(self.find(viewer).get_attribute("data-length"))

    def complaints(self):
        """What the console says: errors, and everything that the content policy forbade."""
        return [
            one["message"] for one in self.driver.get_log("browser") if one["level"] == "SEVERE"
        ]


@pytest.fixture(scope="module")
def browser(client, tmp_path_factory):
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no Chromium with its driver here (Debian: chromium, chromium-driver)")
    downloads = tmp_path_factory.mktemp("downloads")
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(chromedriver))
    driver.set_page_load_timeout(PATIENCE)
    allowed = {"behavior": "allow", "downloadPath": str(downloads)}
    driver.execute_cdp_cmd("Browser.setDownloadBehavior", allowed)
    found = Browser(driver, client.address, downloads)
    found.resize(WIDE)
    yield found
    driver.quit()


@pytest.fixture(autouse=True)
def _fresh_console(browser):
    """Forget what earlier tests made the console say."""
    browser.complaints()


@pytest.fixture(scope="module")
def swf(tmp_path_factory):
    """A log of 4 000 jobs on 64 processors, as a reader's file."""
    log = onega.models.Lublin().sample(4000, rng=2, load=0.85, cluster=64)
    path = tmp_path_factory.mktemp("mine") / "my-cluster.swf.gz"
    onega.write(log, path)
    return path


@pytest.fixture(scope="module")
def uploaded(browser, swf):
    """Upload it by hand, and return the address of its page."""
    browser.open("/")
    browser.find("#file").send_keys(str(swf))
    browser.click("#upload button[type=submit]")
    browser.until(lambda: "/logs/" in browser.driver.current_url, "the log's page")
    browser.find("#says")  # the page comes anew when the log is read
    return browser.driver.current_url.removeprefix(browser.address)


@pytest.fixture(scope="module")
def compared(browser, uploaded):
    """Run two policies on it and compare them; return the address of the comparison."""
    browser.open(uploaded)
    browser.click("#runs button[type=submit]")  # fcfs and easy are chosen already
    browser.until(lambda: len(browser.all("#run-list tbody a")) == 2, "two finished runs")
    browser.click("#compare")
    browser.until(lambda: "/compare?" in browser.driver.current_url, "the comparison")
    return browser.driver.current_url.removeprefix(browser.address)


def test_an_uploaded_log_is_described(browser, uploaded):
    browser.open(uploaded)
    assert browser.text("h1") == "my-cluster.swf.gz"
    assert "4,000 jobs" in browser.text(".lead")
    title = browser.find("#log-figure[data-drawn]").get_attribute("data-drawn")
    assert title
    assert browser.text("#log-figure h3") == title
    assert browser.find("#log-figure .plot svg.main-svg").size["height"] > 200
    browser.picture("log")
    assert browser.complaints() == []


def test_two_policies_stand_side_by_side(browser, client, compared):
    browser.open(compared)
    heads = [one.text for one in browser.all(".numbers thead th")]
    assert heads == ["Measure", "fcfs", "easy"]
    ids = compared.split("?")[1].replace("runs=", "").split("&")
    first, second = (client.get(f"/api/runs/{one}").json()["result"] for one in ids)
    best = browser.all(".numbers tbody tr")[2].find_elements(By.CSS_SELECTOR, "td")
    apart = second["mean_wait_high"] < first["mean_wait_low"]
    assert ["best" in cell.get_attribute("class") for cell in best] == [False, apart]
    browser.viewer_ready()
    assert browser.find("#distribution-figure[data-drawn]").text.startswith("How long jobs wait")
    browser.picture("compare")
    assert browser.complaints() == []


def test_zoom_goes_from_everything_to_an_hour(browser, compared):
    browser.open(compared)
    whole = browser.viewer_ready()
    lane = browser.find("[data-run]")
    assert lane.get_attribute("data-kind") == "grid"
    assert lane.get_attribute("data-jobs") == "4000"
    browser.click("[data-span='86400']")
    assert browser.viewer_ready() == pytest.approx(86400)
    browser.click("[data-span='3600']")
    assert browser.viewer_ready() == pytest.approx(3600)
    assert lane.get_attribute("data-kind") == "jobs"
    assert int(lane.get_attribute("data-jobs")) < 4000
    browser.picture("zoom-hour")
    browser.click("[data-table] summary")
    assert browser.find("[data-table] tbody tr").text
    browser.click("[data-span='all']")
    assert browser.viewer_ready() == pytest.approx(whole)


def test_the_schedule_obeys_the_keyboard(browser, compared):
    browser.open(compared)
    whole = browser.viewer_ready()
    picture = browser.find(".canvas")
    picture.send_keys("+")
    assert browser.viewer_ready() == pytest.approx(whole / 2)
    before = browser.text("[data-where]")
    picture.send_keys(Keys.ARROW_RIGHT)
    browser.until(lambda: browser.text("[data-where]") != before, "another stretch")
    picture.send_keys(Keys.HOME)
    browser.until(lambda: browser.viewer_ready() == pytest.approx(whole), "all of it")


DAY, HOUR, MINUTE = 86400.0, 3600.0, 60.0
NEW_YEAR = 1_704_067_200.0  # 2024-01-01 00:00 UTC


@pytest.fixture(scope="module")
def dated(client, tmp_path_factory):
    """Four jobs that take the whole machine for a day each, after waits of all four kinds."""
    wait = np.array([0.0, 30 * MINUTE, 5 * HOUR, 2 * DAY])
    start = np.arange(4) * DAY + 2 * DAY
    log = onega.Workload(
        {
            "submit": start - wait,
            "wait": wait,
            "runtime": np.full(4, DAY),
            "procs": np.full(4, 4),
        },
        onega.Meta(procs=4, epoch=NEW_YEAR, timezone="Europe/Stockholm"),
    )
    path = tmp_path_factory.mktemp("dated") / "dated.swf"
    onega.write(log, path)
    item = client.upload(path.read_bytes(), name="dated.swf")
    return item, client.run(item, "observed")


def test_the_legend_has_the_colours_of_the_jobs(browser, dated):
    """From left to right the jobs waited longer and longer, in the order of the legend."""
    browser.open(f"/compare?runs={dated[1]['id']}")
    browser.viewer_ready()
    words = [one.text for one in browser.all(".legend li")]
    assert words == ["started within a minute", "waited up to an hour", "up to a day", "longer"]
    legend, seen = browser.driver.execute_script(
        """
        const dots = [...document.querySelectorAll(".legend .dot")];
        const legend = dots.map((one) => getComputedStyle(one).backgroundColor.match(/\\d+/g));
        const canvas = document.querySelector(".lane canvas");
        const pen = canvas.getContext("2d");
        const row = Math.round(0.6 * canvas.height);
        const { data } = pen.getImageData(0, row, canvas.width, 1);
        const seen = [];
        for (let at = 160; at < data.length; at += 4) seen.push([...data.slice(at, at + 4)]);
        return [legend.map((one) => one.slice(0, 3).map(Number)), seen];
        """
    )

    def nearest(pixel):
        apart = [max(abs(a - b) for a, b in zip(pixel, one, strict=False)) for one in legend]
        return apart.index(min(apart)) if pixel[3] > 128 and min(apart) < 6 else None

    order = [kind for kind in map(nearest, seen) if kind is not None]
    assert len(order) > 0.9 * len(seen)
    assert list(dict.fromkeys(order)) == [0, 1, 2, 3]
    assert order == sorted(order)


def test_one_can_jump_to_a_date(browser, dated):
    """The date is the machine's own: midnight in Stockholm is 23:00 UTC."""
    browser.open(f"/compare?runs={dated[1]['id']}")
    browser.viewer_ready()
    field = browser.find("[data-goto]")
    assert field.get_attribute("min") == "2024-01-03T01:00"
    assert field.get_attribute("max") == "2024-01-07T01:00"
    browser.driver.execute_script(
        "arguments[0].value = '2024-01-05T00:00';"
        "arguments[0].dispatchEvent(new Event('change', {bubbles: true}))",
        field,
    )
    where = "2024-01-05 00:00 to 2024-01-06 00:00 (24 h) Europe/Stockholm"
    browser.until(lambda: browser.text("[data-where]").startswith(where), "that day")
    assert browser.viewer_ready() == pytest.approx(DAY)
    # 23 hours of one job and one of the next: both are in view, the other two aren't.
    assert browser.find("[data-run]").get_attribute("data-jobs") == "2"


def test_the_form_takes_a_window(browser, client, dated):
    item, _ = dated
    browser.open(f"/logs/{item['id']}")
    start = browser.find("[name=window_from]")
    assert not start.is_displayed()
    browser.click("#rates summary")
    assert not browser.find("[name='rate_control.rates.1']").is_displayed()  # of one fixed rate
    browser.driver.execute_script(
        "const [form] = arguments; form.elements.window.value = 'given';"
        "form.elements.window.dispatchEvent(new Event('change', {bubbles: true}));",
        browser.find("#runs"),
    )
    assert start.is_displayed()
    start.send_keys("2024-01-04")
    browser.find("[name=window_to]").send_keys("2024-01-07")
    browser.click("#runs button[type=submit]")
    browser.until(
        lambda: "easy, over 2024-01-04..2024-01-07" in browser.text("#run-list"), "the runs"
    )
    browser.until(lambda: len(browser.all("#run-list tbody a")) == 3, "finished runs")
    runs = client.get("/api/runs", params={"log": item["id"]}).json()
    assert {run["request"]["window"] for run in runs} == {"log", "2024-01-04..2024-01-07"}
    # Settings of the machine that weren't touched aren't sent: a description in TOML may have them.
    assert {run["request"]["rate_control"] for run in runs} == {None}
    assert browser.complaints() == []


def test_the_form_sends_settings_of_the_machine(browser, client):
    item = client.make_log(jobs=100, name="clocked")
    browser.open(f"/logs/{item['id']}")
    browser.click("#rates summary")
    browser.click("#power summary")
    for kind, most in (("workload", "300000"), ("queue", "50")):
        browser.driver.execute_script(
            "const field = arguments[0].elements['rate_control.kind']; field.value = arguments[1];"
            "field.dispatchEvent(new Event('change'));",
            browser.find("#runs"),
            kind,
        )
        assert browser.find("[name='rate_control.k_high']").get_attribute("value") == most
    assert not browser.find("[name='rate_control.p_low']").is_displayed()
    for name, watts in (("busy.0", 5), ("busy.1", 8), ("idle.0", 2)):
        browser.find(f"[name='power.{name}']").send_keys(str(watts))
    browser.click("#runs button[type=submit]")
    browser.until(lambda: len(browser.all("#run-list tbody a")) == 2, "two finished runs")
    for run in client.get("/api/runs", params={"log": item["id"]}).json():
        sent = run["request"]["rate_control"]
        given = {name: value for name, value in sent.items() if value is not None}
        assert given == {"kind": "queue", "rates": [1, 1.25], "k_low": 10, "k_high": 50}
        assert run["request"]["power"] == {"busy": [5, 8], "idle": [2]}
        assert run["result"]["energy"] > 0


def test_results_can_be_downloaded(browser, client, compared):
    browser.open(compared)
    run = compared.split("runs=")[1].split("&")[0]
    for label, suffix in (
        ("jobs CSV", "-jobs.csv"),
        ("jobs Parquet", "-jobs.parquet"),
        ("SWF", ".swf"),
    ):
        link = next(one for one in browser.all(".links a") if one.text == label)
        browser.press(link)
        path = browser.downloads / f"fcfs{suffix}"
        browser.until(path.exists, path.name)
        query = link.get_attribute("href").split("?")[1]
        expected = client.get(f"/api/runs/{run}/download?{query}").content
        browser.until(lambda: path.stat().st_size == len(expected), path.name)  # noqa: B023
        assert path.read_bytes() == expected


def test_a_broken_upload_shows_a_readable_message(browser, tmp_path):
    broken = tmp_path / "broken.swf"
    broken.write_text("1 0 0 10 4\n2 5 oops 10 4\n")
    browser.open("/")
    browser.find("#file").send_keys(str(broken))
    browser.click("#upload button[type=submit]")
    shown = browser.text(".problem")
    assert "This log can't be used" in shown
    assert "broken.swf, line 2" in shown
    assert "Traceback" not in browser.driver.page_source
    browser.picture("broken-upload")


def test_a_wrong_policy_shows_a_readable_message(browser, uploaded):
    browser.open(uploaded)
    browser.find("input[name=other]").send_keys("fcfs+hard")
    browser.click("#runs button[type=submit]")
    browser.until(lambda: "unknown backfilling" in browser.text("#runs .message"), "the message")


def test_a_target_that_is_none_shows_a_readable_message(browser, uploaded):
    browser.open(uploaded)
    browser.find("input[name=target]").send_keys(" soon")
    browser.click("#plan button[type=submit]")
    browser.until(lambda: "soon" in browser.text("#plan .message"), "the message")


def test_a_model_is_fitted_and_sampled(browser, uploaded):
    browser.open(uploaded)
    browser.click("#fit button[type=submit]")
    browser.click("#model-list .sample button")
    browser.until(lambda: not browser.driver.current_url.endswith(uploaded), "the sample's page")
    browser.find("#says")
    assert "jobs of lublin of my-cluster.swf.gz" in browser.text("h1")


def test_the_curve_follows_the_sliders(browser, uploaded):
    browser.open(f"/sizing?log={uploaded.split('/')[-1]}")
    assert browser.find("#use-figure[data-drawn]")
    before = browser.text("[data-verdict]")
    slider = browser.find("input[name=load]")
    for _ in range(6):
        slider.send_keys(Keys.PAGE_UP)
    browser.until(lambda: browser.text("[data-verdict]") not in ("", before), "another verdict")
    assert browser.text("[data-verdict]").startswith(("No:", "Yes:", "Can't tell:"))
    browser.picture("sizing")
    assert browser.complaints() == []


UNLABELLED = """
const all = document.querySelectorAll("input, select, button, [tabindex='0']");
return [...all].filter((one) => !(one.labels && one.labels.length) && !one.textContent.trim()
  && !one.getAttribute("aria-label")).map((one) => one.outerHTML);
"""
LANDMARKS = """
return ["header", "main", "footer", "h1"].map((one) => document.querySelectorAll(one).length);
"""
CONTRAST = """
const channel = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
const light = (text) => {
  const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => channel(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (one) => {
  for (; one; one = one.parentElement) {
    const colour = getComputedStyle(one).backgroundColor;
    if (!colour.endsWith(", 0)")) return colour;
  }
  return "rgb(255, 255, 255)";
};
const words = "h1, h2, h3, p, a, label, th, td, button, summary, .muted, li";
return [...document.querySelectorAll(words)].filter((one) => {
  if (!one.textContent.trim() || !one.offsetParent) return false;
  if (one.closest(".plot, .visually-hidden, .skip")) return false;
  const [a, b] = [light(getComputedStyle(one).color), light(behind(one))];
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
}).map((one) => one.outerHTML.slice(0, 120));
"""
"""Text whose contrast with what is behind it is below 4.5 (WCAG 2, level AA)."""


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_pages_are_usable_by_everybody(browser, uploaded, compared, dark):
    """Labels, landmarks and contrast of all pages, on a narrow screen that must not overflow."""
    pages = {
        "home": "/",
        "log": uploaded,
        "runs": "/runs",
        "compare": compared,
        "sizing": "/sizing",
        "api": "/api",
    }
    try:
        browser.resize(NARROW, dark=dark)
        for name, path in pages.items():
            browser.open(path)
            if name == "compare":
                browser.viewer_ready()
            run = browser.driver.execute_script
            assert run(UNLABELLED) == [], name
            assert run(LANDMARKS) == [1, 1, 1, 1], name
            assert run(CONTRAST) == [], name
            assert run("return document.documentElement.scrollWidth") <= NARROW[0], name
            browser.picture(f"{name}-narrow{'-dark' if dark else ''}")
    finally:
        browser.resize(WIDE)


def test_the_first_tab_leads_past_the_navigation(browser):
    browser.open("/")
    browser.find("body").send_keys(Keys.TAB)
    assert browser.driver.switch_to.active_element.text == "Skip to the content"
    browser.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert browser.driver.switch_to.active_element.tag_name == "main"


def test_light_and_dark_can_be_chosen(browser):
    browser.open("/")
    colour = "return getComputedStyle(document.body).backgroundColor"
    light = browser.driver.execute_script(colour)
    browser.click("#theme")
    dark = browser.driver.execute_script(colour)
    assert light != dark
    browser.open("/runs")
    assert browser.driver.execute_script(colour) == dark
    browser.click("#theme")


def test_progress_is_told_while_it_runs(browser, client):
    """A screen reader hears what is being done: the page's live region changes."""
    item = client.make_log(jobs=3000, name="told")
    browser.open(f"/logs/{item['id']}")
    browser.driver.execute_script(
        "window.heard = []; new MutationObserver(() => heard.push(document.getElementById('news')"
        ".textContent)).observe(document.getElementById('news'), {childList: true})"
    )
    browser.click("#runs button[type=submit]")
    browser.until(lambda: len(browser.all("#run-list tbody a")) == 2, "two finished runs")
    browser.until(lambda: "Done." in browser.driver.execute_script("return heard"), "the end")
    assert len(browser.driver.execute_script("return heard")) >= 2


def test_names_from_outside_are_shown_not_obeyed(browser, client):
    name = "<img src=x onerror=alert(1)><b>bold</b>"
    item = client.make_log(jobs=100, name=name)
    run = client.run(item, "easy", name=name)
    for path in ("/", f"/logs/{item['id']}", "/runs", f"/compare?runs={run['id']}"):
        browser.open(path)
        assert browser.driver.find_elements(By.CSS_SELECTOR, "main img, main b b") == []
        assert name in browser.text("main"), path
    browser.viewer_ready()
    browser.find("#distribution-figure[data-drawn]")
    assert [one for one in browser.complaints() if "onerror" in one or "inline" in one] == []
