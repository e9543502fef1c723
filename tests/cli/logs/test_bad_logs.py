"""Bad input through the command: one clear line, the place in it, exit code 2, no traceback."""

import gzip
import resource
import subprocess
import sys

import pytest

import onega
from onega import Workload
from onega.cli import main

GOOD = "{n} {n} 0 10 4 -1 -1 4 60 -1 1 1 1 1 1 1 -1 -1"


def rows(n=3):
    return [GOOD.format(n=number) for number in range(1, n + 1)]


def with_field(field, value, line=2):
    lines = rows()
    words = lines[line - 1].split()
    words[field - 1] = value
    lines[line - 1] = " ".join(words)
    return "\n".join(lines).encode()


SACCT = b"JobID|Submit|Start|End|NCPUS|State\n1|1700000000|1700000001|Unknown|4|RUNNING\n"

BAD = {
    "truncated gzip": (gzip.compress("\n".join(rows(3000)).encode())[:-20], ["cut short"]),
    "binary rubbish": (bytes(range(256)) * 40, ["not a job log"]),
    "nul bytes": (bytes(5000), ["not a job log"]),
    "empty": (b"", ["is empty"]),
    "header only": (b"; Version: 2.2\n; MaxProcs: 4\n", ["no jobs"]),
    "17 fields in one row": (
        "\n".join([*rows(), rows(1)[0].rsplit(maxsplit=1)[0]]).encode(),
        ["line 4", "field think (18)", "17 fields"],
    ),
    "19 fields": (
        "\n".join([*rows(), rows(1)[0] + " 7"]).encode(),
        ["line 4", "field 19", "19 fields"],
    ),
    "letters": (with_field(4, "1o"), ["line 2", "field runtime (4)", "'1o' is not a number"]),
    "nan": (with_field(4, "nan"), ["line 2", "field runtime (4)", "not a finite number"]),
    "infinity": (with_field(9, "inf"), ["line 2", "field estimate (9)", "not a finite number"]),
    "minus infinity": (with_field(2, "-Infinity"), ["line 2", "field submit (2)", "finite"]),
    "1e400": (with_field(4, "1e400"), ["line 2", "field runtime (4)", "too large"]),
    "10^18 seconds": (with_field(4, "1" + "0" * 18), ["line 2", "field runtime (4)", "1e+18"]),
    "10^18 s submit": (with_field(2, "1" + "0" * 18), ["line 2", "field submit (2)"]),
    "half a processor": (with_field(5, "0.5"), ["line 2", "field procs (5)", "whole"]),
    "no end times": (SACCT, ["no job is left", "line 2"]),
    "no end column": (b"JobID|Submit|NCPUS\n1|2|3\n", ["line 1", "field End"]),
    "csv without submit": (b"a,b\n1,2\n", ["line 1", "field submit"]),
    "letters in csv": (b"submit,runtime,procs\n0,x,1\n", ["line 2", "field runtime"]),
    "zip": (b"PK\x03\x04" + bytes(100), ["zip"]),
}


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code, capsys.readouterr()


@pytest.mark.parametrize("case", BAD)
def test_one_clear_line(case, tmp_path, capsys):
    content, words = BAD[case]
    path = tmp_path / "log"
    path.write_bytes(content)
    code, said = run(capsys, "convert", path, tmp_path / "out.swf")
    assert code == 2
    assert said.out == ""
    assert len(said.err.splitlines()) == 1
    assert str(path) in said.err
    for word in words:
        assert word in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "out.swf").exists()


@pytest.mark.parametrize("make", ["missing", "directory"])
def test_no_file(make, tmp_path, capsys):
    path = tmp_path / make
    if make == "directory":
        path.mkdir()
    code, said = run(capsys, "convert", path, tmp_path / "out.swf")
    assert code == 2
    assert f"{path}: " in said.err
    assert len(said.err.splitlines()) == 1


def test_lenient_and_says_so(tmp_path, capsys):
    path = tmp_path / "log.swf"
    path.write_bytes(with_field(5, "-8").replace(b" 4 60", b" -1 60"))
    code, said = run(capsys, "convert", path, tmp_path / "out.swf")
    assert code == 0
    assert f"{path}: changed 1: negative values in field procs (5)" in said.err
    assert "line 2" in said.err


def test_uniformly_seventeen_fields(tmp_path, capsys):
    path = tmp_path / "log.swf"
    path.write_text("\n".join(row.rsplit(maxsplit=1)[0] for row in rows()))
    code, said = run(capsys, "convert", path, tmp_path / "out.swf")
    assert code == 0
    assert "17 of SWF's 18 fields" in said.err
    assert len(onega.read(tmp_path / "out.swf")) == 3


@pytest.mark.parametrize("inside", [b"7 ", b"; "])
def test_a_very_long_line(tmp_path, inside):
    """200 MB without a newline: refused after a few megabytes, not after 200."""
    path = tmp_path / "long"
    piece = inside * (1 << 20)
    with path.open("wb") as out:
        out.write(b"1 0 0 10 4\n" if inside.startswith(b"7") else b"; x\n")
        for _ in range(200 * (1 << 20) // len(piece)):
            out.write(piece)
    script = (
        "import resource, sys; "
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30)); "
        "from onega.cli import main; main(['convert', sys.argv[1], sys.argv[2]])"
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run(
        [sys.executable, "-c", script, str(path), str(tmp_path / "o.swf")],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    assert done.returncode == 2, done.stderr
    assert str(path) in done.stderr
    assert "line 2: a line of more than" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert used < 10


def test_unknown_format_and_suffix(tmp_path, capsys):
    log = Workload({"submit": [0.0], "runtime": [1.0], "procs": [1]})
    onega.write(log, tmp_path / "a.swf")
    code, said = run(capsys, "convert", tmp_path / "a.swf", tmp_path / "a.doc")
    assert code == 2
    assert "can't tell the format" in said.err
    code, said = run(capsys, "convert", tmp_path / "a.swf", tmp_path / "b.csv", "--from", "swg")
    assert code == 2
    assert "did you mean 'swf'" in said.err
    code, said = run(capsys, "convert", tmp_path / "a.swf", tmp_path / "b.csv", "--to", "cvs")
    assert code == 2
    assert "did you mean 'csv'" in said.err


HEAD = "JobID|User|State|Submit|Start|ElapsedRaw|AllocCPUS\n"
ROW = "1001|{user}|{state}|2024-01-08T08:15:21|2024-01-08T08:15:22|15|12\n"
DONE = ROW.format(user="user5", state="COMPLETED")
SLURM_JSON = '{"meta": {}, "jobs": [{"account": "a", "job_id": 7}], "errors": []}'


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (DONE.encode(), "line 1: the first line names no columns, it holds values (2024-01-08T08:"),
        (DONE.encode(), "(sacct prints it unless it is given -n, --noheader)"),
        (SLURM_JSON.encode(), "is JSON of Slurm's, which isn't read; print a table instead: sacct"),
        ((HEAD + DONE).encode("utf-16"), "is a text in UTF-16; logs are read in UTF-8: iconv"),
        ((HEAD + ROW.format(user="u", state="WEIRD")).encode(), "accepted: COMPLETED, FAILED,"),
    ],
)
def test_what_sacct_printed_otherwise_is_told_with_what_to_do(tmp_path, capsys, content, said):
    path = tmp_path / "sacct.txt"
    path.write_bytes(content)
    with pytest.raises(SystemExit) as leaving:
        main(["describe", str(path)])
    out, err = capsys.readouterr()
    assert (leaving.value.code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1


def test_names_in_latin_1_are_read_and_noted(tmp_path):
    path = tmp_path / "sacct.txt"
    rows = [ROW.format(user=user, state="COMPLETED") for user in ("Müller", "Åse", "user5")]
    path.write_bytes((HEAD + rows[0]).encode("latin-1") + "".join(rows[1:]).encode())
    log = onega.read(path)
    assert list(log.meta.labels["user"].values()) == ["Müller", "Åse", "user5"]
    assert log.meta.report.count("latin_1") == 1  # the line of Åse is UTF-8
    swf = tmp_path / "log.swf"
    swf.write_bytes("; User: 3 Müller\n1 0 0 9 1 -1 -1 1 9 -1 1 3\n".encode("latin-1"))
    log = onega.read(swf)
    assert log.meta.labels["user"] == {3: "Müller"}
    assert log.meta.report.count("latin_1") == 1


@pytest.mark.parametrize(
    ("value", "procs", "noted"),
    [("99999999999999999999", None, 1), ("many", None, 1), ("-1", None, 0), ("128", 128, 0)],
)
def test_a_size_in_the_header_that_can_t_be_is_noted(tmp_path, value, procs, noted):
    path = tmp_path / "log.swf"
    path.write_text(f"; MaxProcs: {value}\n1 0 0 9 1 -1 -1 1 9 -1 1 3\n")
    log = onega.read(path)
    assert (log.meta.procs, log.meta.report.count("unknown_maxprocs")) == (procs, noted)
