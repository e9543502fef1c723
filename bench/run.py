"""`make bench`: every benchmark of this folder, or those named, one after the other.

Timings are ratios within one run, because machines are noisy; nothing here is part of the tests.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

HERE = Path(__file__).parent
NOT_BENCHMARKS = {"run", "fuzz_readers", "kill_page", "soak_page"}


def benchmarks() -> dict[str, Path]:
    """Modules with a function ``main()``, by name."""
    return {
        path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_BENCHMARKS
    }


def run(path: Path) -> None:
    spec = importlib.util.spec_from_file_location(f"bench_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    module.main()


def main() -> None:
    known = benchmarks()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", nargs="*", help=f"any of {', '.join(known)}; all by default")
    names = parser.parse_args().name or list(known)
    unknown = [name for name in names if name not in known]
    if unknown:
        parser.error(f"no benchmark {', '.join(unknown)}; there are {', '.join(known)}")
    for name in names:
        print(f"\n=== {name} ===", flush=True)
        run(known[name])


if __name__ == "__main__":
    main()
