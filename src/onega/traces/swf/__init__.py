"""The Standard Workload Format of the Parallel Workloads Archive: reading and writing.

Definition: Chapin et al., "Benchmarks and Standards for the Evaluation of Parallel Job
Schedulers", JSSPP 1999; version 2.2 on the archive's pages.
"""
