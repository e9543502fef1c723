"""Tables 5.1–5.4, 6.2 and 6.3 of seed 002 beside ours: python examples/song_users.py DIR

DIR holds the archive's cleaned logs (KTH-SP2-1996, SDSC-SP2-1998, LANL-CM5-1994).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import onega
from onega.core.chains import correlation
from onega.core.distances import ks_distance
from onega.experiment.feedback_state import cut_points, seen_at_submission

LOGS = {
    "KTH": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "LANL": "LANL-CM5-1994-4.1-cln.swf.gz",
}
PRINTED_GROUPS = {
    "KTH": "(45.0, 40.1, 37.9) (29.2, 40.1, 16.8) (21.3, 6.7, 3.3) (4.5, 13.1, 42.1)",
    "SP2": "(65.5, 53.2, 25.2) (16.1, 5.9, 3.7) (12.0, 17.7, 34.1) (6.3, 23.2, 36.9)",
    "LANL": "(66.3, 33.6, 22.5) (22.7, 25.7, 24.9) (6.7, 29.6, 52.1) (4.3, 11.0, 0.5)",
}
PRINTED_KS = {"KTH": (0.05, 0.07), "SP2": (0.03, 0.05), "LANL": (0.04, 0.06)}
PRINTED_CORRELATION = {"KTH": (0.01, 0.00), "SP2": (0.15, 0.09), "LANL": (0.17, 0.14)}
PRINTED_FEEDBACK = {"KTH": "0 1 1 1 1 0 0 1", "SP2": "1 1 1 1 1 0 0 1"}
BOUNDS = (1, 100, 300, 1000, 2000, np.inf)


def main(folder: Path) -> None:
    for name, file in LOGS.items():
        log, _ = onega.clean(onega.read(folder / file))
        print(f"\n{name}: {len(log)} jobs")
        counts = np.unique(log.column("user"), return_counts=True)[1]
        shares = 100 * np.histogram(counts, BOUNDS)[0] / counts.size
        print("  5.1 users by submissions [1,100[ [100,300[ [300,1000[ [1000,2000[ more:", end=" ")
        print(*(f"{share:.2f}" for share in shares))
        if name == "KTH":
            print("      printed: 68.22 18.22 12.15 0.93 0.47 (bounds printed as 100, 500, 1000)")
        for k in (2, 4, 6):
            table = onega.models.group_users(log, k).to_polars()
            rows = table.select("share_of_area", "share_of_jobs", "share_of_users").rows()
            text = " ".join(f"({', '.join(f'{100 * x:.1f}' for x in row)})" for row in rows)
            print(f"  5.2 K={k}: {text}")
            if k == 4:
                print(f"   printed: {PRINTED_GROUPS[name]}")
        drawn = onega.models.UserGroups.fit(log).sample(len(log), rng=1)
        ks = [ks_distance(log.column(c), drawn.column(c)) for c in ("procs", "runtime")]
        print(f"  5.3 KS: {ks[0]:.3f} {ks[1]:.3f}   printed: {PRINTED_KS[name]}")
        both = [correlation(w.column("procs"), w.column("runtime")) for w in (log, drawn)]
        print(
            f"  5.4 correlation: {both[0]:.2f} {both[1]:.2f}   printed: {PRINTED_CORRELATION[name]}"
        )
        chapter_six(name, log)


def chapter_six(name: str, log: onega.Workload) -> None:
    try:
        result = onega.feedback(log)
    except onega.ExperimentError as refusal:
        print(f"  6   refused: {refusal}")
        return
    if name == "KTH":
        seen = seen_at_submission(onega.Schedule.observed(log))
        cuts = cut_points(seen.waiting, 5).astype(int).tolist()
        print(f"  6.2 levels of W begin at: 0 {cuts}   printed: 0 [9, 14, 18, 24]")
    table = result.to_polars()
    print("  6.3", *table["group"])
    print("     ", *(int(x) for x in table["evidence"]), "  printed:", PRINTED_FEEDBACK[name])
    print("      share %:", *(f"{100 * x:.1f}" for x in table["share"]))
    print("      by chance %:", *(f"{100 * x:.1f}" for x in table["by_chance"]))
    print("      survives chance:", *table.filter(table["survives"])["group"])


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
