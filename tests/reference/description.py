"""Obvious twins of the measures of a description: loops over lists."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime
from fractions import Fraction
from itertools import pairwise


def mean(values):
    return math.fsum(values) / len(values)


def std(values):
    centre = mean(values)
    return math.sqrt(math.fsum((x - centre) ** 2 for x in values) / (len(values) - 1))


def percentile(values, share):
    """Linear interpolation between neighbours (R's type 7)."""
    ordered = sorted(values)
    place = Fraction(share) * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    part = float(place - low)
    return ordered[low] + part * (ordered[high] - ordered[low])


def mode(values):
    counts = Counter(values)
    most = max(counts.values())
    return min(value for value, count in counts.items() if count == most), most / len(values)


def hill(values, k):
    """1/α = (1/k) Σ ln(x₍i₎/x₍k+1₎) over the k largest."""
    ordered = sorted(values, reverse=True)
    return 1 / mean([math.log(ordered[i] / ordered[k]) for i in range(k)])


def pareto_distance(values, k, alpha):
    """Kolmogorov–Smirnov distance of the k largest values from 1 − (x/x₍k+1₎)^−α."""
    ordered = sorted(values, reverse=True)
    threshold, tail = ordered[k], ordered[:k]
    worst = 0.0
    for place, x in enumerate(sorted(tail)):
        law = 1 - (x / threshold) ** -alpha
        worst = max(worst, abs((place + 1) / k - law), abs(law - place / k))
    return worst


def distributional(widths, runtimes):
    """(cut, Σ(F_narrow − F_wide) / Σ|…|, mean of F_narrow − F_wide), by counting."""
    cuts = sorted(set(widths))[:-1]
    if not cuts:
        return None, None, None

    def unevenness(cut):
        return abs(2 * sum(w <= cut for w in widths) - len(widths))

    cut = min(cuts, key=lambda c: (unevenness(c), c))
    narrow = [r for w, r in zip(widths, runtimes) if w <= cut]
    wide = [r for w, r in zip(widths, runtimes) if w > cut]
    gaps = [
        Fraction(sum(r <= x for r in narrow), len(narrow))
        - Fraction(sum(r <= x for r in wide), len(wide))
        for x in runtimes
    ]
    total = sum(map(abs, gaps))
    return cut, float(sum(gaps) / total) if total else None, float(sum(gaps) / len(gaps))


def runs(widths):
    """Power of two → (jobs, mean length of runs, 1/(1 − p))."""
    found = {}
    for width in sorted(set(widths)):
        if width & (width - 1):
            continue
        lengths, current = [], 0
        for one in [*widths, None]:
            if one == width:
                current += 1
            elif current:
                lengths.append(current)
                current = 0
        share = widths.count(width) / len(widths)
        expected = math.inf if share == 1 else 1 / (1 - share)
        found[width] = (widths.count(width), mean(lengths), expected)
    return found


def successors(values, drop_repeats):
    """Class → (count, mean of what follows)."""
    kept = [x for i, x in enumerate(values) if not drop_repeats or i == 0 or x != values[i - 1]]
    found = {}
    for this, following in pairwise(kept):
        found.setdefault(2.0 ** math.floor(math.log2(this)), []).append(following)
    return {power: (len(after), mean(after)) for power, after in found.items()}


def local(moment, zone):
    """(hour, weekday from Monday) of a Unix time."""
    there = datetime.fromtimestamp(math.floor(moment), tz=zone)
    return there.hour, there.weekday()


def correlation(xs, ys):
    """Pearson's coefficient."""
    mx, my = mean(xs), mean(ys)
    both = math.fsum((x - mx) * (y - my) for x, y in zip(xs, ys))
    return both / math.sqrt(
        math.fsum((x - mx) ** 2 for x in xs) * math.fsum((y - my) ** 2 for y in ys)
    )


def following(values):
    """ρ₁ = Σ(x_i − x̄)(x_{i+1} − x̄) / Σ(x_i − x̄)²."""
    m = mean(values)
    both = math.fsum((x - m) * (y - m) for x, y in pairwise(values))
    return both / math.fsum((x - m) ** 2 for x in values)


def states(values):
    """The place of each value's power of two among those that occur, from 0."""
    powers = [math.frexp(value)[1] for value in values]
    ordered = sorted(set(powers))
    return [ordered.index(power) for power in powers]


def thesis(jobs):
    """The measures of Song's Tables 2.1 to 5.1 of a list of jobs that lack nothing."""
    widths, runtimes = [job["procs"] for job in jobs], [job["runtime"] for job in jobs]
    wide, long = states(widths), states(runtimes)
    changes = [
        (w2 - w1, l2 - l1)
        for (w1, w2), (l1, l2) in zip(pairwise(wide), pairwise(long))
        if w1 != w2 and l1 != l2
    ]
    found = {
        "jobs": len(jobs),
        "users": len({job["user"] for job in jobs}),
        "same_procs": mean([float(a == b) for a, b in pairwise(widths)]),
        "states_procs": len(set(wide)),
        "states_runtime": len(set(long)),
        "cor0": correlation(wide, long),
        "cor1": correlation(*zip(*changes)),
        "corr": correlation(widths, runtimes),
        "rho1_procs": following(widths),
        "rho1_runtime": following(runtimes),
        "estimate_max": max(job["estimate"] for job in jobs),
    }
    for name, limit in (("over", 1.0), ("far_over", 1.1)):
        over = [float(job["runtime"] / job["estimate"] > limit) for job in jobs]
        areas = [job["procs"] * job["runtime"] for job in jobs]
        found[f"{name}_estimate_jobs"] = mean(over)
        found[f"{name}_estimate_area"] = math.fsum(map(math.prod, zip(over, areas))) / sum(areas)
    return found | _counted(jobs)


def _counted(jobs):
    """Shares of the twenty most frequent estimates, and of users by how much they submit."""
    liked = Counter(job["estimate"] for job in jobs)
    most = sorted(liked.items(), key=lambda pair: (-pair[1], pair[0]))[:20]
    found = {f"frequent_estimates[{value:g}]": count / len(jobs) for value, count in most}
    found["frequent_estimates_share"] = sum(count for _, count in most) / len(jobs)
    per_user = Counter(job["user"] for job in jobs).values()
    limits = [1, 100, 500, 1000, 2000, math.inf]
    for low, high in pairwise(limits):
        share = sum(low <= count < high for count in per_user) / len(per_user)
        found[f"submissions_per_user[{low}]"] = share
    return found
