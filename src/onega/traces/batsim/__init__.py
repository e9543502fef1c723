"""Files of Batsim: its workloads, read and written, and its table of jobs, written."""
