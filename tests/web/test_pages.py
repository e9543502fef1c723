"""The pages as HTML, the command that serves them, and the package that holds them."""

from __future__ import annotations

import contextlib
import json
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import httpx
import pytest

import onega
from onega.cli.app import main
from onega.web.pages import HERE, TEMPLATES, _ago, _change, _count, _measure

ROOT = Path(__file__).resolve().parents[2]


def addresses(log, runs):
    chosen = "&".join(f"runs={run['id']}" for run in runs)
    return ["/", f"/logs/{log['id']}", "/runs", f"/compare?{chosen}", "/sizing", "/api"]


def test_pages_are_whole_and_without_inline_scripts(client, log, runs):
    for path in addresses(log, runs):
        answer = client.get(path)
        assert answer.status_code == 200
        text = answer.text
        assert text.startswith("<!doctype html>")
        assert text.count("<h1") == 1
        assert re.search(r"<script(?![^>]*\ssrc=)", text) is None
        tags = re.sub(r'"[^"]*"', '""', " ".join(re.findall(r"<[a-z][^>]*>", text)))
        assert re.search(r"\s(on\w+|style)=", tags) is None
        assert "None" not in re.sub(r"None yet", "", text)


def test_everything_that_a_page_asks_for_is_here(client, log, runs):
    asked = set()
    for path in addresses(log, runs):
        found = re.findall(r'(?:src|href)="([^"#]+)"', client.get(path).text)
        asked |= {one.replace("&amp;", "&") for one in found}
    for script in HERE.glob("static/*.js"):
        asked |= {
            f"/static/{name}" for name in re.findall(r'from "\./([\w.]+)"', script.read_text())
        }
    assert not [one for one in asked if "//" in one]  # nothing from elsewhere
    for one in sorted(asked):
        assert client.get(one).status_code == 200, one
    assert client.head("/plotly.js").status_code in (200, 405)


def test_a_page_that_is_not_there_says_so(client):
    answer = client.get("/logs/0123456789abcdef")
    assert answer.status_code == 404
    assert "there is no log" in answer.text.replace("&#39;", "'")
    assert client.get("/nowhere").status_code == 404
    assert client.get("/compare").status_code == 422


def test_a_failed_upload_has_a_page_with_its_reason(client):
    item = client.upload(b"<script>alert(1)</script>\n", fails=True, name="<i>.swf")
    text = client.get(f"/logs/{item['id']}").text
    assert "This log can&#39;t be used" in text or "This log can't be used" in text
    assert "<script>alert" not in text
    assert "&lt;i&gt;.swf" in text


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        (None, "s", "–"),
        (90.0, "s", "90 s"),
        (0.1234, "%", "12.3 %"),
        (3.6e9, "J", "1,000 kWh"),
        (3.6e11, "J", "100 MWh"),
        (1500.0, "W", "1,500 W"),
        (25_000.0, "W", "25 kW"),
        (1234.5, "", "1,234"),
    ],
)
def test_measures_are_written_for_people(value, unit, words):
    assert _measure(value, unit) == words


def test_other_words():
    assert [_change(x) for x in (0.0, -0.5, 0.0123, 19.0, 4999.0)] == [
        "",
        "−50 %",
        "+1.2 %",
        "× 20",
        "× 5,000",
    ]
    assert (_count(1, "job"), _count(2000, "job"), _count(None)) == ("1 job", "2,000 jobs", "–")
    assert _ago(0).endswith("d ago")
    assert all(TEMPLATES.get_template(name) for name in TEMPLATES.list_templates())


def serve_get(capfdbinary, path, state):
    with pytest.raises(SystemExit) as leaving:
        main(["serve", "--get", path, "--state", str(state)])
    said = capfdbinary.readouterr()
    return leaving.value.code, said.out, said.err


def test_one_request_without_a_port(capfdbinary, tmp_path):
    code, out, err = serve_get(capfdbinary, "/api/health", tmp_path / "none")
    assert (code, err) == (0, b"")
    assert json.loads(out)["version"] == onega.__version__
    assert not (tmp_path / "none").exists()  # looking leaves nothing behind
    code, out, _ = serve_get(capfdbinary, "/", tmp_path)
    assert code == 0
    assert out.startswith(b"<!doctype html>")
    code, out, err = serve_get(capfdbinary, "api/logs/0123456789abcdef", tmp_path)
    assert code == 2
    assert b"there is no log" in out
    assert b"404" in err


def test_looking_beside_a_page_that_runs(capfdbinary, client, log):
    code, out, _ = serve_get(capfdbinary, f"/api/logs/{log['id']}", client.settings.state)
    assert code == 0
    assert json.loads(out) == log


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--token", "short"], "8 to 200"),
        (["--host", "no.such.host.invalid"], "can't listen"),
        (["--port", "70000"], "65535"),
    ],
)
def test_what_can_not_be_served_is_one_line(capsys, tmp_path, arguments, word):
    with pytest.raises(SystemExit) as leaving:
        main(["serve", "--state", str(tmp_path), "--no-browser", *arguments])
    said = capsys.readouterr().err
    assert leaving.value.code == 2
    assert word in said
    assert said.count("\n") == 1


COMMAND = [sys.executable, "-c", "from onega.cli import main; main()", "serve", "--no-browser"]


@contextlib.contextmanager
def serving(state, *more):
    """Start the command, stop it by Ctrl-C; yield its address, and a list for its last words."""
    command = [*COMMAND, "--port", "0", "--workers", "1", "--state", str(state), *more]
    said = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as page:
        try:
            yield page.stdout.readline().strip(), said
        finally:
            page.send_signal(signal.SIGINT)
            said += [page.communicate(timeout=60)[1], page.returncode]


def test_the_command_serves_until_it_is_stopped(tmp_path):
    with serving(tmp_path, "--token", "none") as (address, said):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert httpx.get(f"{address}api/health").json()["status"] == "ok"
        taken = [
            *COMMAND,
            "--port",
            address.split(":")[-1].strip("/"),
            "--state",
            str(tmp_path / "b"),
        ]
        second = subprocess.run(taken, capture_output=True, text=True)
        assert second.returncode == 2
        assert "--port 0" in second.stderr
    assert said[1] == 0
    assert "the page is closed" in said[0]
    assert "Traceback" not in said[0]


def test_a_machine_of_others_gets_a_token(tmp_path, monkeypatch):
    monkeypatch.setenv("SSH_CONNECTION", "a session from elsewhere")
    with serving(tmp_path) as (address, said):
        base, token = address.split("?token=")
        assert httpx.get(base).status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert httpx.get(base, headers=headers).status_code == 200
    told = [line for line in said[0].splitlines() if "token" in line]
    assert len(told) == 1
    assert "--token none" in told[0]


def test_another_address_gets_a_token(tmp_path):
    with serving(tmp_path, "--host", "0.0.0.0") as (address, said):
        assert re.fullmatch(r"http://0\.0\.0\.0:\d+/\?token=[\w-]{32}", address)
        here = address.replace("0.0.0.0", "127.0.0.1")
        base, token = here.split("?token=")
        assert httpx.get(base).status_code == 401
        headers = {"authorization": f"Bearer {token}"}
        assert httpx.get(base, headers=headers).status_code == 200
        with httpx.Client(follow_redirects=True) as browser:
            assert browser.get(here).status_code == 200
            assert browser.get(f"{base}api/health").status_code == 200
    assert "isn't encrypted" in said[0]


def test_a_built_wheel_holds_the_page(tmp_path):
    code = f"from hatchling.build import build_wheel; print(build_wheel({str(tmp_path)!r}))"
    made = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    with zipfile.ZipFile(next(tmp_path.glob("*.whl"))) as wheel:
        held = set(wheel.namelist())
    for kind in ("templates", "static"):
        files = [path for path in (HERE / kind).iterdir() if path.is_file()]
        assert files
        assert {f"onega/web/{kind}/{path.name}" for path in files} <= held


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            "The log doesn't say how large the machine is: with --procs N its load is shown.",
            "The log doesn't say how large the machine is: say so when uploading, and its load is "
            "shown.",
        ),
        (
            "dates were read as UTC; say timezone= or --timezone",
            "dates were read as UTC; say the zone when uploading",
        ),
        (
            "or take the log as it is (--resample none), without intervals",
            "or take the log as it is, without intervals",
        ),
        ("is used already; give --state DIR", "is used already"),
        ("It waits 3 - 4 s.", "It waits 3 - 4 s."),
    ],
)
def test_the_page_has_fields_and_no_flags(said, shown):
    assert TEMPLATES.filters["for_page"](said) == shown
