"""The machine: processors, nodes, queues, sleep, failures, and the file that describes one."""
