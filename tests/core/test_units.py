"""Numbers for people: no power of ten, a unit of the right size, nothing invented."""

from __future__ import annotations

import math

import pytest

from onega.core.intervals import mean_interval
from onega.core.units import (
    count_of,
    duration,
    humanise_energy,
    humanise_power,
    humanise_seconds,
    humanise_together,
    percent,
    quantity,
    size,
)


@pytest.mark.parametrize(
    ("value", "digits", "words"),
    [
        (42080.0, 4, "42,080"),
        (42080.4, 4, "42,080"),
        (9999.7, 4, "10,000"),
        (3.14159, 3, "3.14"),
        (120.0, 3, "120"),
        (0.00012345, 3, "0.000123"),
        (-1234567.0, 3, "-1,234,567"),
        (0.0, 3, "0"),
        (None, 3, "–"),
        (math.nan, 3, "–"),
    ],
)
def test_quantities_are_written_out(value, digits, words):
    assert quantity(value, digits) == words


def test_no_size_of_number_gets_a_power_of_ten():
    for power in range(-6, 16):
        for write in (quantity, percent, humanise_energy, humanise_power, humanise_seconds):
            assert "e" not in write(1.2345 * 10.0**power).split()[0]


@pytest.mark.parametrize(
    ("joules", "words"),
    [(1.8e6, "0.5 kWh"), (42_080 * 3.6e6, "42,080 kWh"), (787.5e3 * 3.6e6, "787.5 MWh")],
)
def test_energies(joules, words):
    assert humanise_energy(joules) == words


@pytest.mark.parametrize(
    ("watts", "words"), [(850.0, "850 W"), (95_170.0, "95.17 kW"), (17.7e6, "17.7 MW")]
)
def test_powers(watts, words):
    assert humanise_power(watts) == words


def test_one_job_is_not_1_jobs():
    assert count_of(1, "job") == "1 job"
    assert count_of(16400, "server") == "16,400 servers"


def test_an_interval_of_waits_does_not_reach_below_zero():
    interval = mean_interval([0.0, 0.0, 0.0, 100.0])
    assert interval.low < 0
    bounded = interval.at_least(0.0)
    assert (bounded.low, bounded.high, bounded.mean) == (0.0, interval.high, interval.mean)


def test_durations_are_in_ascii_digits():
    assert [duration(text) for text in ("90", "1.5e3", "1h 30m", "2d")] == [90, 1500, 5400, 172800]
    for text in ("١٢", "²", "１h"):
        with pytest.raises(ValueError, match="not a duration"):
            duration(text)


def test_times_side_by_side_have_one_unit():
    assert humanise_together(7272, 7190) == ("2.02 h", "2 h")  # alone the second is 120 min
    assert humanise_together(90, 30) == ("90 s", "30 s")
    assert humanise_together(math.nan, 60) == ("–", "60 s")
    assert humanise_together(math.nan) == ("–",)


@pytest.mark.parametrize(
    "text", ["512000M", "512000MB", "512000 MiB", "512000mb", "500G", "500GiB"]
)
def test_memory_is_in_powers_of_1024_however_it_is_written(text):
    assert size(text) == 500 * 2**30
