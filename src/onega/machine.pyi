"""The parts of a machine, each with the module it is loaded from on first use."""

from .core.machine.cluster import Cluster as Cluster
from .core.machine.cluster import Power as Power
from .core.machine.cluster import RateControl as RateControl
from .core.machine.events import Events as Events
from .core.machine.faults import Failures as Failures
from .core.machine.faults import Interruption as Interruption
from .core.machine.laws import Draws as Draws
from .core.machine.laws import Law as Law
from .core.machine.nodes import NodeGroup as NodeGroup
from .core.machine.nodes import Partition as Partition
from .core.machine.overheads import Overheads as Overheads
from .core.machine.queues import Multifactor as Multifactor
from .core.machine.queues import Queue as Queue
from .core.machine.queues import UserLimits as UserLimits
from .core.machine.settings.reading import read_cluster as read_cluster
from .core.machine.sleep import PowerCap as PowerCap
from .core.machine.sleep import Sleep as Sleep
from .core.machine.sleep import SleepState as SleepState
from .core.machine.speedup import AmdahlSpeedup as AmdahlSpeedup
from .core.machine.speedup import DowneySpeedup as DowneySpeedup
from .core.machine.state import MachineState as MachineState
