"""The flags of ``onega simulate`` that describe the machine, and the machine they make."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from onega.cli.console import remark
from onega.cli.options import OverheadsOption, ProcsOption, flag_of, in_flags, option
from onega.core.errors import MachineError
from onega.core.machine.cluster import NEEDED, Cluster
from onega.core.machine.settings.description import sentence
from onega.core.machine.settings.making import make_cluster, with_size

_RATES = "Rate control"
_POWER = "Energy"


@dataclass(frozen=True, slots=True)
class MachineFlags:
    """What was said of the machine on the command line; None where nothing was."""

    procs: ProcsOption = None
    cluster: Annotated[
        Path | None,
        option("--cluster", "FILE.toml", "The machine from a file; flags win over it."),
    ] = None
    overheads: OverheadsOption = None
    rate_control: Annotated[
        str | None,
        option("--rate-control", "KIND", sentence("rate_control.kind"), _RATES),
    ] = None
    rate_low: Annotated[
        float | None, option("--rate-low", "R", "Lower (or only) service rate; 1.", _RATES)
    ] = None
    rate_high: Annotated[
        float | None, option("--rate-high", "R", "Higher service rate.", _RATES)
    ] = None
    rates: Annotated[
        str | None, option("--rates", "R,R,…", "More than two rates, increasing.", _RATES)
    ] = None
    k_low: Annotated[
        str | None,
        option("--k-low", "K[,K…]", sentence("rate_control.k_low"), _RATES),
    ] = None
    k_high: Annotated[
        str | None,
        option("--k-high", "K[,K…]", sentence("rate_control.k_high"), _RATES),
    ] = None
    p_low: Annotated[
        float | None, option("--p-low", "P", sentence("rate_control.p_low"), _RATES)
    ] = None
    p_high: Annotated[
        float | None, option("--p-high", "P", sentence("rate_control.p_high"), _RATES)
    ] = None
    power_busy: Annotated[
        str | None, option("--power-busy", "W[,W…]", sentence("power.busy"), _POWER)
    ] = None
    power_idle: Annotated[
        str | None, option("--power-idle", "W[,W…]", sentence("power.idle"), _POWER)
    ] = None
    power_busy_low: Annotated[
        float | None, option("--power-busy-low", "W", "Busy, at the lower rate.", _POWER)
    ] = None
    power_busy_high: Annotated[
        float | None, option("--power-busy-high", "W", "Busy, at the higher rate.", _POWER)
    ] = None
    power_idle_low: Annotated[
        float | None, option("--power-idle-low", "W", "Idle, at the lower rate.", _POWER)
    ] = None
    power_idle_high: Annotated[
        float | None, option("--power-idle-high", "W", "Idle, at the higher rate.", _POWER)
    ] = None


def build_cluster(flags: MachineFlags, log_procs: int | None) -> Cluster:
    """Make the machine: flags win over the file, the file over the log's own size."""
    settings: dict[str, Any] = {}
    if flags.cluster is not None:
        from onega.core.machine.settings.reading import read_settings

        settings = read_settings(flags.cluster)
    if flags.procs is not None:
        settings["procs"] = flags.procs
    settings = with_size(settings, log_procs, "give --procs N")
    control = settings.get("rate_control", {}) | _rate_settings(flags)
    _check_needs(flags, control)
    power = settings.get("power", {}) | _power_settings(flags)
    if power and "busy" not in power:
        raise MachineError("idle power alone gives no energy; give --power-busy too")
    parts = {"rate_control": control, "power": power}
    with in_flags("k_low", "k_high", "p_low", "p_high", "rate_low", "rate_high"):
        cluster = make_cluster(settings | {name: one for name, one in parts.items() if one})
    if flags.overheads is not None:
        cluster = replace(cluster, overheads=flags.overheads)
    if power and "idle" not in power:
        remark("no idle power given: idle processors draw nothing (--power-idle W)")
    return cluster


def _rate_settings(flags: MachineFlags) -> dict[str, Any]:
    """Return the arguments of RateControl that were given as flags."""
    if flags.rates is not None and (flags.rate_low, flags.rate_high) != (None, None):
        raise MachineError("give --rates, or --rate-low and --rate-high, not both")
    rates: Any = None if flags.rates is None else _numbers("--rates", flags.rates)
    if flags.rate_high is not None:
        # The log's own run times are at rate 1, so that is what "low" means by default.
        rates = (1.0 if flags.rate_low is None else flags.rate_low, flags.rate_high)
    elif flags.rate_low is not None:
        rates = (flags.rate_low,)
    given = {
        "kind": flags.rate_control,
        "rates": rates,
        "k_low": None if flags.k_low is None else _numbers("--k-low", flags.k_low),
        "k_high": None if flags.k_high is None else _numbers("--k-high", flags.k_high),
        "p_low": flags.p_low,
        "p_high": flags.p_high,
    }
    return {name: value for name, value in given.items() if value is not None}


def _check_needs(flags: MachineFlags, control: dict[str, Any]) -> None:
    """Refuse flags that would have no effect, and a control that lacks something."""
    kind = control.get("kind", "none")
    if kind not in NEEDED:
        return  # RateControl says it better
    for name in ("k_low", "k_high", "p_low", "p_high"):
        if getattr(flags, name) is not None and name not in NEEDED[kind]:
            takes = " or ".join(rule for rule, names in NEEDED.items() if name in names)
            raise MachineError(f"{flag_of(name)} needs --rate-control {takes}, got {kind}")
    rates = control.get("rates", ())
    several = not isinstance(rates, int | float) and len(rates) > 1
    if kind == "none" and several:
        raise MachineError(
            "several rates need --rate-control random, queue or workload; "
            "for one fixed rate give --rate-low R alone"
        )
    missing = [flag_of(name) for name in NEEDED[kind] if name not in control]
    if kind != "none" and not several:
        missing.insert(0, "--rate-high (or --rates)")
    if missing:
        raise MachineError(f"--rate-control {kind} needs {' and '.join(missing)}")


def _power_settings(flags: MachineFlags) -> dict[str, Any]:
    """Return the arguments of Power that were given as flags."""
    result: dict[str, Any] = {}
    for name in ("busy", "idle"):
        listed = getattr(flags, f"power_{name}")
        low, high = (getattr(flags, f"power_{name}_{end}") for end in ("low", "high"))
        if listed is not None and (low, high) != (None, None):
            raise MachineError(
                f"give --power-{name}, or --power-{name}-low and --power-{name}-high, not both"
            )
        if high is not None and low is None:
            raise MachineError(f"--power-{name}-high needs --power-{name}-low beside it")
        if listed is not None:
            result[name] = _numbers(f"--power-{name}", listed)
        elif high is not None:
            result[name] = (low, high)
        elif low is not None:
            result[name] = (low,)
    _check_high_power(flags)
    return result


def _check_high_power(flags: MachineFlags) -> None:
    """Refuse a low power alone where there are two rates: the other isn't known."""
    if flags.rate_high is None:
        return
    for name in ("busy", "idle"):
        low, high = (getattr(flags, f"power_{name}_{end}") for end in ("low", "high"))
        if low is not None and high is None:
            raise MachineError(
                f"--power-{name}-low is for the low rate; give --power-{name}-high too, "
                f"or --power-{name} W for all rates"
            )


def _numbers(flag: str, text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise MachineError(
            f"{flag} takes a number, or several separated by commas; got {text!r}"
        ) from None
