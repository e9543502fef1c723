"""The log of the models' contract, reached from here."""

from __future__ import annotations

import importlib.util
from pathlib import Path

_spec = importlib.util.spec_from_file_location(
    "models_contract", Path(__file__).parent.parent / "models" / "contract.py"
)
assert _spec is not None
assert _spec.loader is not None
_module = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_module)
example_log = _module.example_log
