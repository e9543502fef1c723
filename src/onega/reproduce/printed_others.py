"""What the papers beside Song's thesis print, and what the R package hpcwld answers.

hpcwld is the software of Rumyantsev (2014) and Rumyantsev et al. (2018); its answers were made with
its own functions ``StabC`` and ``Wld`` on the inputs named.
"""

from __future__ import annotations

from typing import Final

TITLES: Final = {
    "rumyantsev-2014": "A. Rumyantsev, Evaluating the Stability of Supercomputer Workload Model "
    "(2014)",
    "rumyantsev-2018": "A. Rumyantsev, T. Morozova, R. Basmadjian, Discrete-Event Modeling of a "
    "High-Performance Computing Cluster with Service Rate Control (2018)",
    "limits": "O. Zayats et al., Model of a supercomputer cluster in the form of a queueing system "
    "with a random limit on the execution time of applied tasks (2024)",
    "adequacy": "A. Baranov et al., Measure of Adequacy for the Supercomputer Job Management "
    "System Model (2019)",
}

HPCWLD_C: Final = (  # widths, servers, hpcwld's StabC
    ("uniform:10", 10, 0.75311670611),
    ("uniform:100", 100, 0.721861967715742),
    ("uniform:500", 500, 0.71899965769303),
    ("1:.3,2:.15,4:.15,8:.15,16:.1,32:.08,64:.05,128:.02", 128, 0.150832535757119),
)
HPCWLD_KTH: Final = {  # 28 467 jobs of KTH-SP2 on 100 servers
    "C": 0.0946965559604583,
    "mean_delay": 390091.986721,
    "max_delay": 1018341.0,
}

# Rumyantsev et al. (2018), IV: the log of the Karelian Research Centre, and its experiment.
KRC_JOBS: Final = 9389
KRC_SERVERS: Final = 80
KRC_DAYS: Final = 380  # 02.04.2011 to 16.04.2012
KRC_RATES: Final = (2.0, 2.66)
KRC_IDLE: Final = (0.014, 0.018)
KRC_BUSY: Final = (0.041, 0.034)
KRC_K: Final = (1e5, 3e5)
KRC_THRESHOLDS: Final = tuple(1e5 * step for step in range(31))

TABLE_I: Final = {  # Baranov et al. (2019): first jobs → P in seconds, different jobs
    50: (0.0, 0),
    100: (12.0, 4),
    250: (11.4, 13),
    500: (12.0, 20),
    750: (11.6, 28),
    1000: (11.2, 35),
}
