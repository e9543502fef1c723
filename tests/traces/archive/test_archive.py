"""The archive: the catalogue, and fetching from a server on loopback that misbehaves."""

import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import onega
from onega import TraceError
from onega.cli import main
from onega.traces.archive import BASE_URL, CATALOGUE, cache_directory, fetch, find
from onega.traces.archive.catalogue import ArchiveLog

LINES = [f"{n} {n * 60} 0 100 4 -1 -1 4 600 -1 1 1 1 1 1 1 -1 -1" for n in range(1, 2001)]
LOG = gzip.compress("\n".join(LINES).encode(), mtime=0)


class Server:
    """Serves one file; ``plan`` says how each request in turn is to go wrong."""

    def __init__(self):
        self.content = LOG
        self.tag = '"v1"'
        self.plan = []
        self.requests = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self):
                outer.answer(self)

            def log_message(self, *arguments):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/pwa/"
        self.thread = threading.Thread(target=self.http.serve_forever, daemon=True)
        self.thread.start()

    def answer(self, handler):
        self.requests.append((handler.path, handler.headers.get("Range")))
        how = self.plan.pop(0) if self.plan else {}
        if "status" in how:
            handler.send_error(how["status"])
            return
        body, start = self.content, 0
        wanted = handler.headers.get("Range")
        if wanted and handler.headers.get("If-Range") == self.tag and not how.get("no_range"):
            start = int(wanted.removeprefix("bytes=").removesuffix("-"))
            if start >= len(body):
                handler.send_error(416)
                return
            handler.send_response(206)
            shown = start + how.get("shift", 0)
            handler.send_header("Content-Range", f"bytes {shown}-{len(body) - 1}/{len(body)}")
        else:
            handler.send_response(200)
        handler.send_header("ETag", self.tag)
        if not how.get("no_length"):
            handler.send_header("Content-Length", str(len(body) - start + how.get("lie", 0)))
        handler.end_headers()
        handler.wfile.write(body[start : how.get("cut")])

    def close(self):
        self.http.shutdown()
        self.http.server_close()
        self.thread.join()


@pytest.fixture
def server():
    running = Server()
    yield running
    running.close()


@pytest.fixture(autouse=True)
def catalogue(monkeypatch):
    from onega.traces.archive import catalogue

    test = ArchiveLog("Test", "l_test", "Test-2020-1.swf.gz", "loopback", records=2000)
    monkeypatch.setattr(catalogue, "CATALOGUE", (*CATALOGUE, test))


@pytest.fixture
def get(server, tmp_path):
    def run(**options):
        return fetch("Test", base_url=server.url, cache=tmp_path / "cache", **options)

    return run


def test_fetch(get, server):
    seen = []
    path = get(progress=lambda done, total: seen.append((done, total)))
    assert path.read_bytes() == LOG
    assert len(onega.read(path)) == 2000
    assert seen[-1] == (len(LOG), len(LOG))
    assert [p.name for p in path.parent.iterdir()] == ["Test-2020-1.swf.gz"]
    assert server.requests == [("/pwa/l_test/Test-2020-1.swf.gz", None)]
    assert get() == path
    assert len(server.requests) == 1  # not fetched again


def test_interrupted_and_resumed_in_one_call(get, server):
    server.plan = [{"cut": 1000}]
    assert get().read_bytes() == LOG
    assert [span for _, span in server.requests] == [None, "bytes=1000-"]


def test_interrupted_and_resumed_by_another_call(get, server, tmp_path):
    server.plan = [{"cut": 1000}, {"status": 503}]
    with pytest.raises(TraceError, match="503"):
        get()
    assert [p.name for p in (tmp_path / "cache").iterdir() if not p.name.startswith(".")] == []
    assert get().read_bytes() == LOG
    assert server.requests[-1][1] == "bytes=1000-"


def test_gives_up_and_says_what_is_kept(get, server, tmp_path):
    server.plan = [{"cut": 100}, {"cut": 200}, {"cut": 300}]
    with pytest.raises(TraceError, match=rf"300 of {len(LOG)} bytes.*300 bytes are kept"):
        get()
    assert not (tmp_path / "cache" / "Test-2020-1.swf.gz").exists()


def test_file_changed_meanwhile(get, server):
    server.plan = [{"cut": 1000}, {"status": 500}]
    with pytest.raises(TraceError, match="500"):
        get()
    server.tag = '"v2"'
    server.content = gzip.compress("\n".join(reversed(LINES)).encode())
    assert get().read_bytes() == server.content


def test_server_without_ranges(get, server):
    server.plan = [{"cut": 1000}, {"no_range": True}]
    assert get().read_bytes() == LOG


def test_wrong_continuation_is_refused(get, server):
    server.plan = [{"cut": 1000}, {"shift": 7}, {}]
    assert get().read_bytes() == LOG


def test_file_became_shorter(get, server):
    server.plan = [{"cut": 5000}, {"status": 500}]
    with pytest.raises(TraceError, match="500"):
        get()
    lines = "\n".join(LINES).encode()
    server.content = gzip.compress(lines, 9, mtime=0)[:4000]
    with pytest.raises(TraceError, match="not the log"):
        get()


def test_no_length(get, server):
    server.plan = [{"no_length": True}]
    assert get().read_bytes() == LOG


def test_wrong_size(get, server):
    server.plan = [{"lie": 50}] * 3
    with pytest.raises(TraceError, match="bytes arrived"):
        get()


@pytest.mark.parametrize("status", [404, 403])
def test_refused(get, server, status):
    server.plan = [{"status": status}]
    with pytest.raises(TraceError, match=rf"{server.url}.*{status}"):
        get()
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (LOG[:-30], "cut short"),
        (b"<html>not found</html>", "not the log: 2 fields"),
        (
            gzip.compress("\n".join(LINES[:7]).encode(), mtime=0),
            "7 jobs where the catalogue says 2000",
        ),
        (b"", "is empty"),
    ],
)
def test_content_is_checked(get, server, tmp_path, content, message):
    server.content = content
    with pytest.raises(TraceError, match=message):
        get()
    assert list((tmp_path / "cache").iterdir()) == []


def test_no_server(tmp_path):
    with pytest.raises(TraceError, match="connection broke"):
        fetch("Test", base_url="http://127.0.0.1:9/", cache=tmp_path)


@pytest.mark.parametrize("url", ["file:///etc", "nonsense"])
def test_other_addresses(tmp_path, url):
    with pytest.raises(TraceError, match="not an address"):
        fetch("Test", base_url=url, cache=tmp_path)


def test_catalogue():
    assert len({log.name for log in CATALOGUE}) == len(CATALOGUE)
    assert all(log.url.startswith(BASE_URL + "l_") for log in CATALOGUE)
    assert all(log.figures in (None, "header", "page", "papers") for log in CATALOGUE)
    kth = find("kth-sp2")
    assert kth is find("KTH-SP2-1996-2.1-cln.swf.gz")
    assert kth.url == BASE_URL + "l_kth_sp2/KTH-SP2-1996-2.1-cln.swf.gz"
    with pytest.raises(TraceError, match="did you mean 'KTH-SP2'"):
        find("KTH-SP3")


@pytest.mark.parametrize("log", [log for log in CATALOGUE if log.figures == "header"])
def test_catalogue_agrees_with_the_files(shared, log):
    read = onega.read(shared("traces", log.file))
    assert (len(read), read.meta.procs) == (log.records, log.procs)
    stated = [line for line in read.meta.header if line.strip().startswith("MaxJobs")]
    assert stated[0].split()[-1] == str(log.jobs)


def test_cache_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("ONEGA_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path / "archive"
    monkeypatch.delenv("ONEGA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "x"))
    assert cache_directory() == tmp_path / "x" / "onega" / "archive"


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code, capsys.readouterr()


def test_command(server, tmp_path, capsys):
    options = ("--base-url", server.url, "--cache", tmp_path)
    code, said = run(capsys, "archive", "get", "test", *options)
    assert code == 0
    assert said.out == f"{tmp_path / 'Test-2020-1.swf.gz'}\n"
    assert said.err == ""
    code, said = run(capsys, "archive", "get", "test", *options, "--json")
    assert json.loads(said.out)["bytes"] == len(LOG)
    server.plan = [{"status": 404}]
    code, said = run(capsys, "archive", "get", "KTH-SP2", *options)
    assert code == 2
    assert said.err.startswith("onega: http://127.0.0.1")
    assert len(said.err.splitlines()) == 1


def test_list_command(capsys):
    code, said = run(capsys, "archive", "list", "--json")
    listed = json.loads(said.out)
    assert code == 0
    assert listed["count"] == len(listed["logs"]) == len(CATALOGUE)
    assert {"name", "url", "procs", "jobs"} <= set(listed["logs"][0])
    code, said = run(capsys, "archive", "list")
    assert "KTH-SP2" in said.out
