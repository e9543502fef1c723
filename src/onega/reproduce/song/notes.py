"""Why figures differ from Song's (2006) printed ones: table → log → sentence.

Every sentence was checked on the archive's cleaned logs KTH-SP2-1996-2.1, SDSC-SP2-1998-4.2,
LANL-CM5-1994-4.1 and HPC2N-2002-2.2; docs/song-tables.md is what the command makes of these four.
"""

from __future__ import annotations

from typing import Final

ANY: Final = "*"
"""Stands for whatever logs are given."""

_CLEANED: Final = {
    "SP2": "SP2: the thesis's log has 67,667 jobs; the archive's cleaned version lacks the floods "
    "of four users (13,781 jobs), so it can be compared in kind only.",
    "LANL": "LANL: the archive's cleaned version lacks 79,327 jobs (39 %) of three users, so it "
    "can be compared in kind only.",
}

NOTES: Final[dict[str, dict[str, str]]] = {
    "Table 2.1": {
        "KTH": "KTH: the cleaned log lacks the first 14 jobs. Table 2.1 exchanges the periods of "
        "CTC and KTH.",
        **_CLEANED,
    },
    "Table 3.1": _CLEANED,
    "Table 3.3": {
        "KTH": "KTH: widths from 1 to 100 make seven powers of two. An eighth state appears if "
        "the one job without a width is taken for a state of its own.",
    },
    "Table 3.4": {
        "SP2": _CLEANED["SP2"],
        "LANL": "LANL: cor₀ is the figure that cleaning changes most; 39 % of the jobs, of three "
        "users, are gone.",
    },
    "Table 3.5": {
        ANY: "`counted` is the thesis's chain to the letter, and the printed figures are its. The "
        "transitions counted in a log (3.4) are those of a path after the three rules: adjusted "
        "once more, they change again. `inferred`, the model's default, is the chain before the "
        "rules, found from the counts by Bayes' rule with the counted matrix as the prior; it has "
        "no constant to choose.",
        "SP2": "SP2 and LANL: KS distances are the printed ones or smaller. The area is a sum over "
        "few wide, long jobs: it depends on the version of the log and on what “uniform "
        "between l_j and l_(j+1)” means in the last state; ours ends at the largest value seen.",
        "LANL": _CLEANED["LANL"],
    },
    "Table 3.6": {
        "KTH": "KTH: the chains and Lublin's law both give 0.03 ± 0.01 over replicates; the "
        "printed 0.01 is one draw.",
        "LANL": "LANL: widths are adjusted only when the width's state changes, with probability "
        "|cor|, so the model passes on a part of the correlation; the printed 0.23 exceeds the "
        "log's own. Ours is fitted to the log; the thesis doesn't say whether its Lublin was.",
    },
    "Table 3.7": {
        ANY: "The adjusted state is what the job gets; the width's chain goes on from its own "
        "state. The text leaves it open; with the adjusted state fed back LANL's ρ₁ of widths "
        "would be twice the log's.",
        "KTH": "ρ₁ is of values, not of states: only so is KTH 0.29 and 0.29. The chains' ρ₁ of "
        "widths is two or three hundredths below the printed draw.",
        "LANL": _CLEANED["LANL"],
        "HPC2N-2002-2": "HPC2N (not in the thesis): its processors are asked for in few widths "
        "that repeat for long. Powers of two and the adjustments break these rows up, so the "
        "chains lose more than 0.05 of the widths' ρ₁ here, and only here.",
    },
    "Beside 3.5–3.7": {
        "KTH": "Where d_SA comes from: uniform values within a state (run times pile up at limits, "
        "widths at favourite numbers; `within=observed` draws what was seen) and the three rules "
        "(`coupling=joint`, which `markov-pair` has, walks through pairs of states). The other "
        "direction of the coupling, `runtime-from-width`, is far off in area: a state of run times "
        "is a factor of two wherever it is wrong. `jann` keeps moments and misses the shape of run "
        "times, as §2.3 says; `downey` and `cirne` draw width and run time (or request) "
        "independently; `lublin` has the marginals and no memory; `feitelson96` has memory by "
        "repeated runs.",
    },
    "Beside 7.2": {
        ANY: "Longer contexts predict gaps better, widths and run times hardly better than “the "
        "same again”.",
    },
    "Table 4.1": {
        "LANL": "LANL: the thesis counts an estimate for 20 % of the jobs, this version has one "
        "for 91 %.",
    },
    "Table 4.2": {
        "KTH": "KTH: all four come out as printed if jobs are forgiven 6 seconds over their "
        "estimate; half of the jobs that are over are so by 9 seconds or less.",
        "SP2": _CLEANED["SP2"],
        "LANL": "LANL: another log in this respect, 91 % of the jobs have an estimate instead of "
        "20 %.",
    },
    "Table 4.4": {
        "KTH": "KTH: 16 of the 20 most frequent values are printed; the printed total of 74.9 % "
        "is that of 20.",
        "LANL": "LANL: shares of a log with 39 % fewer jobs.",
    },
    "Table 4.5": {"SP2": _CLEANED["SP2"]},
    "Table 4.7": {},
    "Table 4.8": {
        "KTH": "Moments by the corrected formula p = x̄(x̄(1−x̄)/s² − 1), on accuracies rescaled "
        "to (0, 1.1); classes with q ≤ 1, whose log₂ log₂ q doesn't exist, have no part in q's "
        "line.",
        "SP2": "SP2: a better KS and the other sign of d_SA, on another version of the log; both "
        "hang on how classes with q ≤ 1 are treated (kept just above 1: KS 0.16, d_SA 1 %).",
        "LANL": "LANL (§4.4.2): γ and β are of maximum likelihood; by moments a few accuracies in "
        "the thousands would decide them. 91 % of the jobs have estimates, not 20 %.",
    },
    "Table 4.9": {
        ANY: "Beta's lines count every class of run times once, as the text's regression on k "
        "pairs does. Weighted by their jobs, SP2's classes would decide what is drawn for KTH. "
        "The text is silent on classes with q ≤ 1; they are left out.",
    },
    "Table 5.1": {
        "KTH": "KTH: the printed shares are those of the bound 300, not of the printed 500; they "
        "are made with 300 here.",
    },
    "Table 5.2": {
        "KTH": "The groups depend on CLARA's sample: on KTH 10 of 20 seeds give these four.",
        "SP2": "SP2: the user with 17 % of the jobs (K = 6) is gone from the cleaned log; other "
        "groupings are then as good. Whether that or CLARA's sample makes the difference can't "
        "be told.",
        "LANL": "LANL: the user with 11 % of the jobs is smaller in the cleaned log.",
    },
    "Table 5.3": {
        ANY: "“Literally” draws as §5.3 says. With sessions (the default) run times end at the "
        "longest that a group has shown, and the share of powers of two counts those that come "
        "out by themselves.",
    },
    "Table 5.4": {
        ANY: "Drawn literally, a few run times far beyond the log's own lower the correlation "
        "(Pearson's coefficient is theirs); with sessions the Gaussians end at the longest that "
        "a group has shown.",
        "SP2": _CLEANED["SP2"],
        "LANL": _CLEANED["LANL"],
    },
    "Table 6.3": {
        "KTH": "KTH: WP+ covers 19.2 % of the submissions, just below the line of 20 %. WP− is 0 "
        "in print and covers 36 % here; the thesis's own text and Figure 6.2 describe WP− for KTH.",
        "SP2": "SP2: OR− covers 19.6 %, just below the line; WP− 34 %.",
    },
}


def notes_for(label: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the sentences on a table for the logs given, each once; those for any log first."""
    found = [NOTES.get(label, {}).get(name) for name in (ANY, *names)]
    return tuple(dict.fromkeys(text for text in found if text))
