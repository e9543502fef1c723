"""The logs that can be fetched by name.

The archive is kept by Dror Feitelson at the Hebrew University; cite it, and the people named in a
log's header, when you use a log. File names carry a version; ``-cln`` is the cleaned version that
the archive recommends.

Where the figures come from is said for each log: ``header`` means that the file itself was read
and agrees with its header; ``page`` that they stand on the log's page in the archive; ``papers``
that they are as widely cited. What isn't known for certain is None.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from onega.core.errors import TraceError, suggest

BASE_URL: Final = "https://www.cs.huji.ac.il/labs/parallel/workload/"


@dataclass(frozen=True, slots=True)
class ArchiveLog:
    """One log.

    Attributes
    ----------
    name
        What it is called here, without version.
    folder, file
        Its place below the archive's address.
    machine
        What it ran on.
    procs
        Processors.
    jobs
        Jobs in the original log, before the archive cleaned it.
    records
        Jobs in this very file; checked after fetching.
    figures
        Where the figures come from: ``header``, ``page``, ``papers``.
    """

    name: str
    folder: str
    file: str
    machine: str
    procs: int | None = None
    jobs: int | None = None
    records: int | None = None
    figures: str | None = None

    @property
    def path(self) -> str:
        """Place below the archive's address."""
        return f"{self.folder}/{self.file}"

    @property
    def url(self) -> str:
        """Address in the archive."""
        return BASE_URL + self.path


def _log(name: str, folder: str, version: str, machine: str, **figures: int | str) -> ArchiveLog:
    return ArchiveLog(name, folder, f"{version}.swf.gz", machine, **figures)  # type: ignore[arg-type]


CATALOGUE: Final = (
    _log(
        *("NASA-iPSC", "l_nasa_ipsc", "NASA-iPSC-1993-3.1-cln", "Intel iPSC/860, NASA Ames"),
        procs=128,
        jobs=42264,
        figures="papers",
    ),
    _log(
        *("LANL-CM5", "l_lanl_cm5", "LANL-CM5-1994-4.1-cln", "Thinking Machines CM-5, Los Alamos"),
        procs=1024,
        jobs=201387,
        records=122060,
        figures="header",
    ),
    _log(
        *("SDSC-Par-1995", "l_sdsc_par", "SDSC-Par-1995-3.1-cln", "Intel Paragon, San Diego"),
        procs=416,
        jobs=76872,
        figures="page",
    ),
    _log(
        *("SDSC-Par-1996", "l_sdsc_par", "SDSC-Par-1996-3.1-cln", "Intel Paragon, San Diego"),
        procs=416,
        jobs=38723,
        figures="page",
    ),
    _log(
        *("CTC-SP2", "l_ctc_sp2", "CTC-SP2-1996-3.1-cln", "IBM SP2, Cornell Theory Center"),
        procs=338,
        jobs=79302,
        figures="page",
    ),
    _log(
        *("KTH-SP2", "l_kth_sp2", "KTH-SP2-1996-2.1-cln", "IBM SP2, KTH Stockholm"),
        procs=100,
        jobs=28490,
        records=28476,
        figures="header",
    ),
    _log(
        *("LLNL-T3D", "l_llnl_t3d", "LLNL-T3D-1996-2", "Cray T3D, Livermore"),
        procs=256,
        jobs=22779,
        figures="page",
    ),
    _log(
        *("SDSC-SP2", "l_sdsc_sp2", "SDSC-SP2-1998-4.2-cln", "IBM SP2, San Diego"),
        procs=128,
        jobs=73496,
        records=59715,
        figures="header",
    ),
    _log("LANL-O2K", "l_lanl_o2k", "LANL-O2K-1999-2", "SGI Origin 2000, Los Alamos"),
    _log(
        *("SDSC-BLUE", "l_sdsc_blue", "SDSC-BLUE-2000-4.2-cln", "IBM SP Blue Horizon, San Diego"),
        procs=1152,
        figures="papers",
    ),
    _log(
        *("HPC2N", "l_hpc2n", "HPC2N-2002-2.2-cln", "Linux cluster Seth, Umeå"),
        procs=240,
        jobs=527371,
        records=202871,
        figures="header",
    ),
    _log("SDSC-DS", "l_sdsc_ds", "SDSC-DS-2004-2.1-cln", "IBM DataStar, San Diego"),
    _log("LPC-EGEE", "l_lpc", "LPC-EGEE-2004-1.2-cln", "grid cluster, Clermont-Ferrand"),
    _log("SHARCNET", "l_sharcnet", "SHARCNET-2005-2", "clusters of SHARCNET, Ontario"),
    _log(
        *("LLNL-Atlas", "l_llnl_atlas", "LLNL-Atlas-2006-2.1-cln", "Linux cluster, Livermore"),
        procs=9216,
        jobs=60332,
        figures="page",
    ),
    _log(
        *("LLNL-Thunder", "l_llnl_thunder", "LLNL-Thunder-2007-1.1-cln"),
        "Linux cluster, Livermore",
        procs=4096,
        jobs=128662,
        figures="page",
    ),
    _log("CIEMAT-Euler", "l_ciemat_euler", "CIEMAT-Euler-2008-1", "Linux cluster, Madrid"),
    _log(
        *("ANL-Intrepid", "l_anl_int", "ANL-Intrepid-2009-1", "Blue Gene/P, Argonne"),
        procs=163840,
        figures="page",
    ),
    _log("PIK-IPLEX", "l_pik_iplex", "PIK-IPLEX-2009-1", "IBM iDataPlex, Potsdam"),
    _log(
        *("RICC", "l_ricc", "RICC-2010-2", "RIKEN Integrated Cluster of Clusters"),
        procs=8192,
        jobs=447794,
        figures="page",
    ),
    _log(
        *("CEA-Curie", "l_cea_curie", "CEA-Curie-2011-2.1-cln", "Bull Curie, CEA"),
        procs=93312,
        figures="papers",
    ),
    _log("MetaCentrum-2", "l_metacentrum2", "METACENTRUM-2013-3", "Czech national grid"),
    _log(
        *("UniLu-Gaia", "l_unilu_gaia", "UniLu-Gaia-2014-2", "cluster Gaia, Luxembourg"),
        procs=2004,
        jobs=51987,
        figures="page",
    ),
    _log("KIT-FH2", "l_kit_fh2", "KIT-FH2-2016-1", "ForHLR II, Karlsruhe"),
)
"""In order of age."""


def find(name: str) -> ArchiveLog:
    """Find a log by its name or its file's, in any case.

    Raises
    ------
    TraceError
        If there is none; the message names the nearest.
    """
    wanted = name.lower()
    for log in CATALOGUE:
        names = (log.name, log.file, log.file.removesuffix(".gz"), log.file.removesuffix(".swf.gz"))
        if wanted in (one.lower() for one in names):
            return log
    raise TraceError(
        f"no log {name!r} in the catalogue; {suggest(name, [x.name for x in CATALOGUE])}"
    )
