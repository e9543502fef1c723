"""Sizes that know the hour: the coupling by hand, and what samples of a log keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

import onega
from models.contract import example_log
from onega.core.errors import ModelError
from onega.core.workload.chains import autocorrelation
from onega.core.workload.clock import MONDAY
from onega.core.workload.distances import ks_distance
from onega.core.workload.rhythm import rhythm
from onega.models import MODELS
from onega.models.jobs.size_cycle import BLOCKS, CELLS, SizeCycle, cell_of
from places import shared

HOUR, DAY = 3600.0, 86400.0


def nightly_log(n=40_000, rng=1):
    """By day short and narrow jobs, at night and at weekends long and wide ones, twice as often."""
    random = np.random.default_rng(rng)
    submit = np.sort(random.uniform(0, 8 * 7 * DAY, n)).round()
    hour = submit % DAY / HOUR
    large = random.random(n) < np.where((hour < 8) | (hour >= 18), 0.6, 0.2)
    runtime = np.where(large, 3600.0, 60.0) * random.uniform(0.6, 1.4, n)
    procs = np.where(large, 8, 1)
    table = {"submit": submit, "runtime": runtime.round(), "procs": procs}
    return onega.Workload(table, onega.Meta(epoch=MONDAY, timezone="UTC", procs=64))


def test_blocks_of_the_week():
    times = np.array([0, 1.9 * HOUR, 2 * HOUR, 23 * HOUR, 5 * DAY, 7 * DAY - 1, 7 * DAY])
    assert cell_of(times).tolist() == [0, 0, 1, 11, BLOCKS, CELLS - 1, 0]


def test_the_law_of_each_block_and_of_all_hours_is_the_logs():
    log = nightly_log()
    clock, procs, runtime = (log.column(c).astype(float) for c in ("submit", "procs", "runtime"))
    cycle = SizeCycle.fit(clock, procs, runtime)
    random = np.random.default_rng(5)
    mixed = random.permutation(procs.size)  # the same jobs, any hour
    width, length = cycle.clocked(clock, procs[mixed], runtime[mixed], random)
    for begin, end, share in ((0, 8, 0.6), (8, 18, 0.2), (18, 24, 0.6)):
        here = (clock % DAY >= begin * HOUR) & (clock % DAY < end * HOUR)
        error = 4 * np.sqrt(share * (1 - share) / here.sum() * 3)  # rows go together: fewer draws
        assert np.mean(width[here] == 8) == pytest.approx(share, abs=error + 0.005)
    assert ks_distance(procs, width) < 0.01
    assert ks_distance(runtime, length) < 0.01
    assert np.all((width == 8) == (length > 1000))  # jobs change as a whole


def wandering_log(rng=3, n=30_000):
    """Run times that wander over many classes, longer at night; widths go with them."""
    random = np.random.default_rng(rng)
    clock = np.sort(random.uniform(0, 12 * 7 * DAY, n))
    place = lfilter([0.7], [1, -0.7], random.standard_normal(n))
    night = (clock % DAY < 8 * HOUR) | (clock % DAY >= 18 * HOUR)
    runtime = np.exp2(8 + 2 * place + 2 * night).clip(1, 2**15)
    return clock, np.where(place > 0, 8.0, 1.0), runtime


def test_the_memory_of_a_log_turned_to_other_hours_stays():
    clock, procs, runtime = wandering_log()

    def memory(cycle):
        turned = [
            sum(map(autocorrelation, cycle.clocked(np.roll(clock, turn), procs, runtime, rng)))
            for turn in range(2_000, 28_000, 2_000)
            for rng in [np.random.default_rng(turn)]
        ]
        return np.mean(turned)

    cycle = SizeCycle.fit(clock, procs, runtime)
    wanted = autocorrelation(procs) + autocorrelation(runtime)
    assert memory(replace(cycle, together=0.0)) < wanted - 0.1
    assert memory(cycle) == pytest.approx(wanted, abs=0.05)
    assert 0.3 < cycle.together < 1


def test_a_law_that_does_not_change_changes_nothing():
    cycle = SizeCycle([1.0, 2.0], [1.0, 64.0], np.ones((CELLS, 4)))
    procs, runtime = np.array([1.0, 3.0, 1.0]), np.array([5.0, 70.0, 90.0])
    got = cycle.clocked(np.arange(3) * HOUR, procs, runtime, np.random.default_rng(1))
    assert [one.tolist() for one in got] == [procs.tolist(), runtime.tolist()]


def test_wrong_ratios_are_refused():
    with pytest.raises(ModelError, match="ratios"):
        SizeCycle([1.0], [1.0], np.zeros((CELLS, 1)))
    with pytest.raises(ModelError, match="together"):
        SizeCycle([1.0], [1.0], np.ones((CELLS, 1)), 1.5)
    with pytest.raises(ModelError, match="no sizes 'hourli'; did you mean 'hourly'"):
        MODELS["independent"].fit(example_log(), sizes="hourli")


def test_short_logs_have_no_weekend_to_learn_from():
    log = example_log()
    short = log.window(0, 10 * DAY)
    assert MODELS["markov-pair"].fit(short).sizes is None
    assert MODELS["independent"].fit(nightly_log()).sizes is None
    assert MODELS["independent"].fit(nightly_log(), sizes="hourly").sizes is not None
    assert MODELS["markov-pair"].fit(nightly_log(), cycle="none").sizes is None


@pytest.mark.parametrize("name", ["markov-pair", "vlmc", "neural", "svr"])
@pytest.mark.parametrize("load", [None, 0.3])
def test_samples_have_the_logs_nights_at_any_load(name, load):
    log = nightly_log(10_000)
    real = rhythm(log)
    made = MODELS[name].fit(log, rng=1).sample(20_000, rng=2, load=load)
    found = rhythm(made)
    assert found.night_runtime == pytest.approx(real.night_runtime, rel=0.15)
    assert found.night_procs == pytest.approx(real.night_procs, rel=0.15)
    if load is not None:
        area = made.column("procs").astype(float) @ made.column("runtime")
        assert area / (64 * made.span) == pytest.approx(load, rel=1e-4)


@pytest.mark.parametrize("name", ["markov-pair", "vlmc", "neural", "svr"])
def test_samples_of_kth_have_its_nights_and_weekends(name):
    log = onega.read(shared("traces", "KTH-SP2-1996-2.1-cln.swf.gz"))
    real = rhythm(log)
    model = MODELS[name].fit(log, rng=1)
    made = [rhythm(model.sample(len(log), rng=k)) for k in range(3)]
    for figure in ("night_runtime", "night_procs", "weekend_runtime", "weekend_procs"):
        mean = np.mean([getattr(one, figure) for one in made])
        assert mean == pytest.approx(getattr(real, figure), rel=0.15), figure
