"""What the verbs return, for annotations and ``isinstance``: `onega.plan` returns a ``Plan``.

They are loaded on first use; their one list is the stub beside this module.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("onega", __file__)
