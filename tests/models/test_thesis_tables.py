"""What the models owe on archive logs: the thesis's tables, and better."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import onega
from onega.core.workload.distances import ks_distance
from onega.models import MODELS, BetaEstimates, TsafrirEstimates

LOGS = {
    "KTH": "KTH-SP2-1996-2.1-cln.swf.gz",
    "SP2": "SDSC-SP2-1998-4.2-cln.swf.gz",
    "LANL": "LANL-CM5-1994-4.1-cln.swf.gz",
}
HPC2N = "HPC2N-2002-2.2-cln.swf.gz"


def read(shared, name):
    return onega.read(shared("traces", LOGS.get(name, HPC2N)))


def means(rows):
    return {key: float(rows[key].mean()) for key in rows.columns if key != "model"}


def test_kth_by_the_thesiss_chains(shared):
    """Table 3.5 (KS 0.04 and 0.03) and Table 3.7, over five replicates."""
    log = read(shared, "KTH")
    found = means(onega.compare_models(log, ["markov"], replicates=5, rng=1).rows)
    assert found["ks_procs"] < 0.045  # printed 0.04, rounded
    assert found["ks_runtime"] < 0.035  # printed 0.03, rounded
    assert abs(found["rho1_procs_synthetic"] - found["rho1_procs_real"]) < 0.05
    assert abs(found["rho1_runtime_synthetic"] - found["rho1_runtime_real"]) < 0.05
    assert 0.05 < found["d_sa"] < 0.27  # printed 15.4 %, ± 4 % over replicates


@pytest.mark.verification
@pytest.mark.parametrize(
    ("model", "name"),
    [*((model, name) for model in ("markov", "markov-pair") for name in LOGS),
     ("markov-pair", "HPC2N")],
)  # fmt: skip
def test_the_chains_keep_memory(shared, model, name):
    found = means(onega.compare_models(read(shared, name), [model], replicates=20, rng=1).rows)
    assert abs(found["rho1_runtime_synthetic"] - found["rho1_runtime_real"]) < 0.05
    assert abs(found["rho1_procs_synthetic"] - found["rho1_procs_real"]) < 0.05


@pytest.mark.verification
@pytest.mark.parametrize("name", LOGS)
def test_the_pair_chain_keeps_the_area(shared, name):
    log = read(shared, name)
    rows = onega.compare_models(log, ["markov-pair"], replicates=20, rng=1).rows
    better = rows.filter(pl.col("model") == "markov-pair")
    assert better["d_sa"].abs().median() < 0.05
    assert better["ks_procs"].mean() < 0.015
    assert better["ks_runtime"].mean() < 0.015


@pytest.mark.verification
@pytest.mark.parametrize("name", LOGS)
def test_every_family_fits_and_draws_every_log(shared, name):
    log = read(shared, name)
    for family in MODELS.values():
        model = family.fit(log, rng=1)
        drawn = model.sample(5000, rng=1)
        assert len(drawn) == 5000
        assert drawn.column("procs").max() <= log.meta.procs


def test_estimates_of_kth(shared):
    """Table 4.8: KS 0.06; Tsafrir's model does better."""
    log = read(shared, "KTH")
    known = log.table.filter((pl.col("runtime") > 0) & (pl.col("estimate") > 0))
    runtime, estimate = known["runtime"].to_numpy(), known["estimate"].to_numpy()
    beta = BetaEstimates.fit(log, bound=60 * 3600.0).draw(runtime, np.random.default_rng(1))
    assert ks_distance(estimate, beta) < 0.07
    tsafrir = TsafrirEstimates.fit(log).draw(runtime, np.random.default_rng(1))
    assert ks_distance(estimate, tsafrir) < 0.02
