"""Tables of Song's thesis (seed 002) on the logs at hand: ours beside the printed figure.

    python examples/song_tables.py FOLDER [--replicates 20] [--seed 1]

FOLDER holds the Parallel Workloads Archive's logs of KTH-SP2, SDSC-SP2 and LANL-CM5 (SWF, gzipped
or not); those that are missing are left out. Prints Markdown.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import polars as pl

import onega
from onega.core.chains import temporal_summary
from onega.core.distances import ks_distance
from onega.core.rng import child, generator
from onega.models import MODELS, BetaEstimates, GammaEstimates, TsafrirEstimates

LOGS = {"KTH": "KTH-SP2*.swf*", "SP2": "SDSC-SP2*.swf*", "LANL": "LANL-CM5*.swf*"}

EQUAL_NEIGHBOURS = {"KTH": 37.5, "SP2": 57.2, "LANL": 46.8}  # Table 3.1, %
DIMENSIONS = {"KTH": (18, 8), "SP2": (19, 8), "LANL": (18, 6)}  # Table 3.3: run time, width
COR = {"KTH": (0.04, 0.14), "SP2": (0.18, 0.29), "LANL": (0.14, 0.33)}  # Table 3.4
STATIC = {"KTH": (0.04, 0.03, 15.4), "SP2": (0.02, 0.04, 7.6), "LANL": (0.01, 0.04, -1.1)}  # 3.5
CORRELATION = {"KTH": (0.01, 0.01, 0.01), "LANL": (0.17, 0.23, 0.30)}  # Table 3.6: real, MCM, L/F
RHO1 = {  # Table 3.7: width real, MCM, PDM; run time real, MCM, PDM
    "KTH": (0.29, 0.29, 0.01, 0.29, 0.30, -0.01),
    "LANL": (0.16, 0.20, -0.01, 0.18, 0.19, -0.03),
}
EXCEEDING = {  # Table 4.2, %: accuracy > 1 (jobs, area), accuracy > 1.1 (jobs, area)
    "KTH": (1.1, 1.8, 0.2, 1.1),
    "SP2": (9.7, 26.1, 1.1, 1.1),
    "LANL": (15.8, 30.5, 7.5, 22.7),
}
LONGEST = {"KTH": 60, "SP2": 48, "LANL": 8.33}  # Table 4.7, hours
ESTIMATES = {"KTH": (0.06, 15.1), "SP2": (0.14, -8.9), "LANL": (0.13, -7.0)}  # Table 4.8 and §4.4.2
TRAINED = {  # Table 4.9: trained on → (KS, d_SA %) of KTH, of SP2
    ("KTH",): ((0.06, 15.1), (0.18, -27.7)),
    ("SP2",): ((0.10, 39.7), (0.14, -9.4)),
    ("KTH", "SP2"): ((0.14, 48.6), (0.11, -15.9)),
}
BOUND = 60 * 3600.0  # the seed's upper bound of estimates


def read_logs(folder: Path) -> dict[str, onega.Workload]:
    logs = {}
    for name, pattern in LOGS.items():
        found = sorted(folder.glob(pattern))
        if found:
            log = onega.read(found[0])
            logs[name] = log.select((pl.col("runtime") > 0) & (pl.col("procs") > 0))
    return logs


def table(title: str, header: list[str], rows: list[list[str]]) -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(row) + " |")


def beside(ours: str, printed: object) -> str:
    return f"**{ours}** / {printed}"


def temporal_tables(logs: dict[str, onega.Workload]) -> None:
    facts = {n: temporal_summary(w.column("procs"), w.column("runtime")) for n, w in logs.items()}
    table(
        "Table 3.1: neighbours of equal width, and Table 3.3: dimensions of the chains",
        ["log", "jobs", "equal neighbours, %", "run-time states", "width states"],
        [
            [n, str(len(logs[n])), beside(f"{100 * f['same_procs']:.1f}", EQUAL_NEIGHBOURS[n]),
             beside(str(f["states_runtime"]), DIMENSIONS[n][0]),
             beside(str(f["states_procs"]), DIMENSIONS[n][1])]
            for n, f in facts.items()
        ],
    )  # fmt: skip
    table(
        "Table 3.4: cor₀ and cor₁",
        ["log", "cor₀", "cor₁"],
        [
            [n, beside(f"{f['cor0']:.2f}", COR[n][0]), beside(f"{f['cor1']:.2f}", COR[n][1])]
            for n, f in facts.items()
        ],
    )


VARIANTS = {
    "markov": ("markov", {}),
    "markov, matrix=counted (the seed's)": ("markov", {"matrix": "counted"}),
    "markov, within=observed": ("markov", {"within": "observed"}),
    "markov, coupling=runtime-from-width": ("markov", {"coupling": "runtime-from-width"}),
    "markov-pair, within=observed": ("markov-pair", {"within": "observed"}),
    "markov-pair": ("markov-pair", {}),
    "independent (the seed's PDM)": ("independent", {}),
    "vlmc": ("vlmc", {}),
    "lublin, fitted": ("lublin", {}),
    "jann": ("jann", {}),
    "downey": ("downey", {}),
    "feitelson96": ("feitelson96", {}),
    "neural": ("neural", {}),
    "svr": ("svr", {}),
}


def model_tables(logs: dict[str, onega.Workload], replicates: int, seed: int) -> None:
    results = {}
    for name, log in logs.items():
        models = {
            label: MODELS[kind].fit(log, rng=child(seed, 9), **options)
            for label, (kind, options) in VARIANTS.items()
        }
        results[name] = onega.compare_models(log, models, replicates=replicates, rng=seed).rows
    mean = {n: {k[0]: g for k, g in r.group_by("model")} for n, r in results.items()}

    def show(log: str, label: str, key: str, scale: float = 1, digits: int = 2) -> str:
        values = scale * mean[log][label][key].to_numpy()
        return f"{values.mean():.{digits}f} ± {values.std(ddof=1):.{digits}f}"

    first = "markov"
    table(
        f"Table 3.5: markov beside the log, {replicates} replicates (mean ± standard deviation)",
        ["log", "KS width", "KS run time", "d_SA, %"],
        [
            [n, beside(show(n, first, "ks_procs", digits=3), STATIC[n][0]),
             beside(show(n, first, "ks_runtime", digits=3), STATIC[n][1]),
             beside(show(n, first, "d_sa", 100, 1), STATIC[n][2])]
            for n in logs
        ],
    )  # fmt: skip
    table(
        "Table 3.6: correlation of width and run time",
        ["log", "the log", "markov", "lublin, fitted"],
        [
            [n, beside(f"{mean[n][first]['corr_real'][0]:.2f}", CORRELATION[n][0]),
             beside(show(n, first, "corr_synthetic"), CORRELATION[n][1]),
             beside(show(n, "lublin, fitted", "corr_synthetic"), CORRELATION[n][2])]
            for n in logs if n in CORRELATION
        ],
    )  # fmt: skip
    pdm = "independent (the seed's PDM)"
    rows = []
    for n in logs:
        printed = RHO1.get(n, ("–",) * 6)
        cells = [n]
        for place, key in enumerate(("rho1_procs", "rho1_runtime")):
            real = f"{mean[n][first][f'{key}_real'][0]:.2f}"
            cells.append(beside(real, printed[3 * place]))
            cells.append(beside(show(n, first, f"{key}_synthetic"), printed[3 * place + 1]))
            cells.append(beside(show(n, pdm, f"{key}_synthetic"), printed[3 * place + 2]))
        rows.append(cells)
    table(
        "Table 3.7: ρ₁ of widths and of run times",
        ["log", "width: log", "markov", "independent", "run time: log", "markov", "independent"],
        rows,
    )
    for n in logs:
        real = mean[n][first]
        rows = [
            ["the log", "", "", "", ""]
            + [f"{real[f'{k}_real'][0]:.2f}"
               for k in ("corr", "rho1_procs", "rho1_runtime", "same_procs")] + [""]
        ]  # fmt: skip
        for label in VARIANTS:
            median = float(np.median(np.abs(mean[n][label]["d_sa"].to_numpy())))
            keys = ("ks_procs", "ks_runtime", "ks_gap")
            cells = [f"{mean[n][label][key].mean():.3f}" for key in keys]
            more = ("corr", "rho1_procs", "rho1_runtime", "same_procs")
            cells += [f"{100 * mean[n][label]['d_sa'].mean():+.1f}"]
            cells += [f"{mean[n][label][f'{key}_synthetic'].mean():.2f}" for key in more]
            rows.append([label, *cells, f"{100 * median:.1f}"])
        table(
            f"All models on {n}, means over {replicates} replicates",
            ["model", "KS width", "KS run time", "KS gap", "d_SA, %", "corr", "ρ₁ width",
             "ρ₁ run time", "equal neighbours", "median abs d_SA, %"],
            rows,
        )  # fmt: skip


def paired(log: onega.Workload) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    known = log.table.filter(pl.col("estimate") > 0)
    return tuple(known[name].to_numpy() for name in ("runtime", "estimate", "procs"))


def estimate_tables(logs: dict[str, onega.Workload], replicates: int, seed: int) -> None:
    rows = []
    for n, log in logs.items():
        runtime, estimate, procs = paired(log)
        accuracy, area = runtime / estimate, runtime * procs
        cells = [n]
        for place, limit in enumerate((1.0, 1.1)):
            over = accuracy > limit
            printed = EXCEEDING[n][2 * place : 2 * place + 2]
            cells.append(beside(f"{100 * over.mean():.1f}", printed[0]))
            cells.append(beside(f"{100 * area[over].sum() / area.sum():.1f}", printed[1]))
        cells.append(beside(f"{estimate.max() / 3600:.2f}", LONGEST[n]))
        rows.append(cells)
    table(
        "Table 4.2: jobs that outlive their estimate, and Table 4.7: longest estimate",
        ["log", "> 1: jobs, %", "area, %", "> 1.1: jobs, %", "area, %", "longest, h"],
        rows,
    )

    def score(model, log: onega.Workload) -> tuple[str, str]:
        runtime, estimate, procs = paired(log)
        ks, area = [], []
        for k in range(replicates):
            drawn = model.draw(runtime, generator(child(seed, k)))
            ks.append(ks_distance(estimate, drawn))
            area.append(100 * (procs @ drawn / (procs @ estimate) - 1))
        return (f"{np.mean(ks):.3f} ± {np.std(ks, ddof=1):.3f}",
                f"{np.mean(area):.1f} ± {np.std(area, ddof=1):.1f}")  # fmt: skip

    rows = []
    for n, log in logs.items():
        kind = GammaEstimates if n == "LANL" else BetaEstimates
        ks, area = score(kind.fit(log, bound=None if n == "LANL" else BOUND), log)
        other = score(TsafrirEstimates.fit(log), log)
        rows.append([n, kind.KIND, beside(ks, ESTIMATES[n][0]), beside(area, ESTIMATES[n][1]),
                     *other])  # fmt: skip
    table(
        "Table 4.8: estimates drawn for the log's own run times (LANL: §4.4.2)",
        ["log", "law", "KS", "d_SA, %", "KS, Tsafrir's", "d_SA, %, Tsafrir's"],
        rows,
    )
    rows = []
    for names, printed in TRAINED.items():
        if not {*names, "KTH", "SP2"} <= set(logs):
            continue
        model = BetaEstimates.fit(*(logs[name] for name in names), bound=BOUND)
        cells = [", ".join(names)]
        for place, target in enumerate(("KTH", "SP2")):
            ks, area = score(model, logs[target])
            cells += [beside(ks, printed[place][0]), beside(area, printed[place][1])]
        rows.append(cells)
    table(
        "Table 4.9: trained on some logs, drawn for others",
        ["trained on", "KTH: KS", "KTH: d_SA, %", "SP2: KS", "SP2: d_SA, %"],
        rows,
    )


def prediction_table(logs: dict[str, onega.Workload]) -> None:
    from onega.models.vlmc import prediction_scores

    rows = []
    for n, log in logs.items():
        for attribute, scores in prediction_scores(log).items():
            order = ("vlmc", "first_order", "same_as_last")
            rows.append([n, attribute, *(f"{100 * scores[key]:.1f}" for key in order)])
    table(
        "The class of the next job: right predictions in the log's second half, %",
        ["log", "attribute", "vlmc", "first-order chain", "same as last"],
        rows,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--replicates", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    logs = read_logs(arguments.folder)
    if not logs:
        parser.error(f"no log of {', '.join(LOGS)} in {arguments.folder}")
    print("Every cell is **ours** / printed.")
    temporal_tables(logs)
    model_tables(logs, arguments.replicates, arguments.seed)
    estimate_tables(logs, arguments.replicates, arguments.seed)
    prediction_table(logs)


if __name__ == "__main__":
    main()
