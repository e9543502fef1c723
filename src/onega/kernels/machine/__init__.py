"""The machine in detail: nodes, partitions, queues, sleep, failures … and one scheduling pass."""
