"""Fuzz the readers: mutate small logs of every format for some minutes.

Whatever is read, only two things may happen: a workload, or a `TraceError` of one line. A workload
must survive being written as SWF and read again.

    python bench/fuzz_readers.py [--minutes 3] [--seed 1]
"""

from __future__ import annotations

import argparse
import bz2
import gzip
import lzma
import random
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

import polars as pl
import zstandard

import onega
from onega import TraceError
from onega.traces.files import Limits
from onega.traces.reading import FORMATS
from onega.traces.swf import reader as swf_reader

SWF = b"""; Version: 2.2
; UnixStartTime: 843480031
; TimeZoneString: Europe/Stockholm
; MaxProcs: 100
; Queue: 1 short
 1 0 10 100 4 90.5 2048 8 3600 4096 1 3 2 7 1 0 -1 -1
 2 5 -1 100 4 -1 -1 -1 3600 -1 0 3 2 7 1 0 1 60
 3 9 10 1e2 4 90.5 2048 8 3600 4096 5 3 2 7 1 0 -1 -1
"""
SACCT = b"""JobID|User|Account|State|Submit|Start|End|Elapsed|Timelimit|AllocCPUS|MaxRSS|ReqMem
1|ann|ph|COMPLETED|2024-01-10T10:00:00|2024-01-10T10:05:00|2024-01-10T11:05:00|01:00:00|1-00|3||4Gc
1.batch||ph|COMPLETED|2024-01-10T10:05:00|2024-01-10T10:05:00|Unknown|01:00:00||32|123K|
101_4|bob|ph|CANCELLED by 5|2024-01-10T10:00:00|Unknown|2024-01-10T11:05:00|00:00|UNLIMITED|0||1M
102+0|bob|ph|TIMEOUT|1704880800|1704880900|1704880910|10|90|2||1M
"""
JOBCOMP = (
    b"JobId=1 UserId=ann(1001) GroupId=users(100) Name=x JobState=COMPLETED Partition=debug "
    b"TimeLimit=2 StartTime=2024-01-10T10:00:00 EndTime=2024-01-10T10:01:41 NodeList=n1 NodeCnt=2 "
    b"ProcCnt=2 WorkDir=/ ReservationName= Tres=cpu=2 Account= QOS=normal WcKey= Cluster=c "
    b"SubmitTime=2024-01-10T09:59:59 EligibleTime=Unknown DerivedExitCode=0:0 ExitCode=0:0\n"
)
PBS = (
    b"01/10/2024 11:00:00;Q;8.head;queue=batch\n01/10/2024 11:00:05;D;8.head;requestor=a\n"
    b"01/10/2024 11:18:20;E;7.head;user=ann group=users queue=batch ctime=1704880800 "
    b"start=1704880900 exec_host=n1/0*8+n2/0-3 Resource_List.nodes=2:ppn=4 "
    b"Resource_List.walltime=01:00:00 end=1704881900 Exit_status=0 resources_used.cput=02:13:20 "
    b"resources_used.mem=8192kb resources_used.walltime=00:16:40\n"
)
CSV = b"""job_id,user,submit_time,start_time,end_time,cores,memory,state
9,eve,2024-01-01 00:00:00,2024-01-01 00:00:05,2024-01-01 00:01:05+01:00,8,4G,TIMEOUT
8,"b, x",2024-01-01 00:00:02.5,2024-01-01 00:00:05Z,2024-01-01 00:01:05,4,,completed
"""
GAPS = b"interarrival,service,cores,delays\n10,5,1,0\n-20,6,2,3\n99,7.5,0,4\n"

TOKENS = [
    *(b"-1", b"nan", b"inf", b"1e400", b"1e18", b"99999999999999999999", b"0", b"-0", b"", b" "),
    *(b";", b"|", b",", b'"', b"\x00", b"\xff\xfe", b"\n", b"\r\n", b"\t", b"Unknown", b"None"),
    *(b"2024-02-30T00:00:00", b"9999-12-31T23:59:59", b"0000-00-00 00:00:00", b"1-1:1:1:1"),
    *(b"9" * 400, b"[", b"123_[1-5]", b".", b"+", b"=", b"\xc3\xa9", b"1_000", b"0x1f", b"1.5"),
    *(b"-5", b"4294967296", b"9223372036854775808", b"1e-320", b"JobID", b"CANCELLED by x"),
]


def parquet(folder: Path) -> bytes:
    frame = pl.DataFrame(
        {"submit": [1.0, 2.0], "runtime": [3, None], "procs": [1, 2], "user": ["a", "b"]}
    )
    frame.write_parquet(folder / "seed.parquet")
    return (folder / "seed.parquet").read_bytes()


def mutate(data: bytes, rng: random.Random, seeds: list[bytes]) -> bytes:
    data = bytearray(data)
    if rng.random() < 0.6:  # stay close to the format
        for _ in range(rng.choice([0, 1, 1, 2])):
            data = swap_field(data, rng)
        return bytes(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        at = rng.randrange(len(data) + 1)
        to = min(len(data), at + rng.choice([0, 1, 2, 5, 20, 100]))
        what = rng.randrange(8)
        if what == 0 and data:
            data[at % len(data)] ^= 1 << rng.randrange(8)
        elif what in (1, 2):
            data[at:to] = rng.choice(TOKENS)
        elif what == 3:
            del data[at:to]
        elif what == 4:
            data[at:at] = data[at:to] * rng.choice([1, 2, 30])
        elif what == 5:
            other = rng.choice(seeds)
            begin = rng.randrange(len(other) + 1)
            data[at:to] = other[begin : begin + rng.choice([5, 40, 400])]
        elif what == 6:
            data = swap_field(data, rng)
        else:
            del data[at:]
    return bytes(data)


def swap_field(data: bytearray, rng: random.Random) -> bytearray:
    """Replace one field of one line: mutations that stay close to the format."""
    lines = data.split(b"\n")
    number = rng.randrange(len(lines))
    separator = max(b"| ,;=", key=lines[number].count)
    fields = lines[number].split(bytes([separator]))
    fields[rng.randrange(len(fields))] = rng.choice(TOKENS)
    lines[number] = bytes([separator]).join(fields)
    return bytearray(b"\n".join(lines))


def attempt(path: Path, options: dict, again: Path) -> str:
    try:
        log = onega.read(path, limits=Limits(size=1 << 26, ratio_from=1 << 20), **options)
    except TraceError as error:
        if len(str(error).splitlines()) > 1:
            raise AssertionError(f"more than one line: {error!r}") from error
        return "refused"
    try:
        report = onega.write(log, again)
    except TraceError:
        return "read, not writable"
    if not report and len(onega.read(again)) != len(log):
        raise AssertionError("another number of jobs after a round trip")
    onega.clean(log, flurries=True, jitter=True, rng=1)
    return "read"


def fuzz() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    rng = random.Random(given.seed)
    warnings.simplefilter("error")
    pack = [
        *[lambda data: data] * 12,
        *(gzip.compress, bz2.compress, lzma.compress, zstandard.ZstdCompressor().compress),
    ]
    counts: Counter[str] = Counter()
    failures: dict[str, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        seeds = [SWF, SACCT, JOBCOMP, PBS, CSV, GAPS, parquet(Path(folder))]
        path, again = Path(folder, "log"), Path(folder, "again.swf")
        end = time.monotonic() + 60 * given.minutes
        while time.monotonic() < end:
            data = mutate(rng.choice(seeds), rng, seeds)
            packed = rng.choice(pack)(data)
            if packed != data and rng.random() < 0.5:
                packed = mutate(packed, rng, [packed])
            path.write_bytes(packed)
            options = {"format": rng.choice([None] * 30 + [one.name for one in FORMATS])}
            options["timezone"] = rng.choice([None, None, "America/Denver"])
            swf_reader.SMALL = rng.choice([-1, 1 << 30])
            try:
                counts[attempt(path, options, again)] += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                counts["FAILED"] += 1
                last = traceback.format_exc().splitlines()
                key = "\n".join(last[-4:])
                if key not in failures:
                    failures[key] = packed
                    print("-" * 80, "\n".join(last[-12:]), options, packed[:600], sep="\n")
    print(dict(counts), f"{len(failures)} kinds of failure")


if __name__ == "__main__":
    fuzz()
