"""Workload models: learn a log, make more of it (layer: models).

``MODELS`` names every family; `onega.models.Markov` and the others are loaded on first use. Their
one list is ``__init__.pyi``.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
