"""A log that is given away: no name of the input is in the output, in any format."""

import json
import re
import stat

import polars as pl
import pytest

import onega
from onega import Meta, TraceError, Workload
from onega.cli import main
from onega.traces.anonymising import anonymise

NAMES = {
    "user": ["annalena", "roberto", "evelina"],
    "account": ["astrophysics", "genomics"],
    "qos": ["premiumqos", "scavenger"],
    "partition": ["thinnodes", "gpunodes"],
    "name": ["protein_folding", "galaxy_merger"],
    "directory": ["/home/annalena/run17", "/scratch/genomics/x"],
}
KEY = b"0123456789abcdef0123456789abcdef"


@pytest.fixture
def path(tmp_path):
    rows = ["JobID|User|Account|QOS|Partition|JobName|WorkDir|State|Submit|Start|End|AllocCPUS"]
    for job in range(12):
        words = [names[job % len(names)] for names in NAMES.values()]
        submit = 1_700_000_000 + 86400 * job
        rows.append("|".join([str(4242 + job), *words, "COMPLETED", str(submit), str(submit + 5),
                              str(submit + 65), "4"]))  # fmt: skip
    found = tmp_path / "annalena-of-astrophysics.txt"
    found.write_text("\n".join(rows) + "\n")
    return found


def run(capsys, *arguments):
    with pytest.raises(SystemExit) as left:
        main([str(argument) for argument in arguments])
    return left.value.code, capsys.readouterr()


def content(path):
    """What stands in a file, unpacked: all of a Parquet file's columns and metadata as text."""
    raw = path.read_bytes()
    if path.suffix != ".parquet":
        return raw.decode()
    meta = pl.read_parquet_metadata(path)
    return raw.decode("latin-1") + json.dumps(dict(meta)) + pl.read_parquet(path).write_csv()


@pytest.mark.parametrize("name", ["out.swf", "out.csv", "out.parquet"])
def test_no_name_of_the_input_is_in_the_output(path, tmp_path, capsys, name):
    out = tmp_path / name
    code, said = run(capsys, "convert", path, out, "--anonymise")
    assert code == 0
    assert "anonymised: names under pseudonyms" in said.err
    written = content(out)
    for names in NAMES.values():
        for one in names:
            assert one not in written
    assert "annalena-of" not in written
    assert not re.search(r"\b42(4[2-9]|5[0-3])\b", written)  # jobs are numbered anew
    log, hidden = onega.read(path), onega.read(out)
    for column in ("user", "group", "queue", "partition"):
        pairs = set(zip(log.names(column), hidden.names(column), strict=True))
        assert len(pairs) == log.table[column].n_unique() == hidden.table[column].n_unique()
    assert hidden.table["runtime"].equals(log.table["runtime"])
    if name != "out.csv":
        assert any("anonymised" in line for line in hidden.meta.header)


def test_numbers_are_names_too(tmp_path, capsys):
    path, out = tmp_path / "in.swf", tmp_path / "out.swf"
    header = "; Acknowledge: Annalena Roberto\n; Queue: 7 premiumqos\n; UnixStartTime: 843480031\n"
    rows = [f"{n} {n * 60} 0 60 4 -1 -1 4 600 -1 1 {90210 + n % 3} 31337 -1 7 -1 -1 -1"
            for n in range(1, 10)]  # fmt: skip
    path.write_text(header + "\n".join(rows) + "\n")
    code, _ = run(capsys, "convert", path, out, "--anonymise")
    assert code == 0
    written = out.read_text()
    for word in ("90210", "90211", "90212", "31337", "premiumqos", "Annalena"):
        assert word not in written
    assert onega.read(out).table["user"].n_unique() == 3


def test_pseudonyms_by_key(path, tmp_path, capsys):
    log = onega.read(path)
    first, second = anonymise(log), anonymise(log)
    assert not set(first.names("user")) & set(second.names("user"))
    part = log.select(pl.col("job") > 4245)
    one, other = anonymise(log, key=KEY), anonymise(part, key=KEY)
    assert one.names("user")[4:].to_list() == other.names("user").to_list()
    assert KEY.decode() not in repr(one.meta)
    with pytest.raises(TraceError, match="at least 16 bytes, got 3"):
        anonymise(log, key=b"abc")
    with pytest.raises(TraceError, match="no names in 'procs'"):
        anonymise(log, keep=["procs"])
    secret = tmp_path / "key"
    for name in ("a.csv", "b.csv"):
        code, said = run(capsys, "convert", path, tmp_path / name, "--anonymise", "--key", secret)
        assert code == 0
    assert (tmp_path / "a.csv").read_text() == (tmp_path / "b.csv").read_text()
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert secret.read_text().strip() not in content(tmp_path / "a.csv")
    secret.write_text("short\n")
    code, said = run(capsys, "convert", path, tmp_path / "c.csv", "--anonymise", "--key", secret)
    assert code == 2
    assert "at least 16 bytes" in said.err
    assert not (tmp_path / "c.csv").exists()


def test_names_that_are_kept(path):
    hidden = anonymise(onega.read(path), keep=["partition"])
    assert set(hidden.names("partition")) == set(NAMES["partition"])
    assert "but for partition" in hidden.meta.header[0]


def test_times_are_shifted_by_weeks(path, tmp_path, capsys):
    log = onega.read(path)
    hidden = anonymise(log, key=KEY, shift_times=True)
    weeks = (log.meta.epoch - hidden.meta.epoch) / (7 * 86400)
    assert weeks == int(weeks) >= 1
    assert hidden.table["submit"].equals(log.table["submit"])
    assert "secret number of weeks" in hidden.meta.header[0]
    code, said = run(capsys, "convert", path, tmp_path / "o.swf", "--shift-times")
    assert code == 2
    assert "for --anonymise" in said.err


def test_jobs_that_come_after_others_follow_the_new_numbers():
    log = Workload({"job": [70, 80, 90], "submit": [0.0, 1.0, 2.0], "runtime": [1.0] * 3,
                    "procs": [1] * 3, "after": [None, 70, 5]})  # fmt: skip
    hidden = anonymise(log)
    assert hidden.table["job"].to_list() == [1, 2, 3]
    assert hidden.table["after"].to_list() == [None, 1, None]


def test_unfinished_jobs_can_be_written(tmp_path, capsys):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_text("submit,runtime,procs,state\n0,1,1,COMPLETED\n1,5,2,RUNNING\n")
    code, _ = run(capsys, "convert", path, out, "--unfinished")
    assert code == 0
    assert onega.read(out).table["procs"].to_list() == [2]


def test_samples_carry_no_names():
    rng = pytest.importorskip("numpy").random.default_rng(1)
    jobs = 600
    log = Workload(
        {
            "submit": rng.exponential(100, jobs).cumsum().round(),
            "runtime": rng.lognormal(5, 1, jobs).round() + 1,
            "procs": 2 ** rng.integers(0, 4, jobs),
            "user": 90210 + rng.integers(0, 9, jobs),
        },
        Meta(procs=16, labels={"user": {90210 + n: f"person{n}" for n in range(9)}}),
    )
    drawn = onega.models.MODELS["user-groups"].fit(log, rng=1, groups=2).sample(200, rng=1)
    assert not drawn.meta.labels
    assert drawn.table["user"].max() <= 9
    assert drawn.table["user"].min() == 1
