"""Commands under the heading "Workload models"."""
