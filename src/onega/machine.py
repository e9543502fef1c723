"""The parts of a machine: nodes, partitions, queues, sleep, power, failures, what happens to it.

``onega.Cluster(64, sleep=onega.machine.Sleep(...))``. They are loaded on first use; their one list
is the stub beside this module.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub("onega", __file__)
