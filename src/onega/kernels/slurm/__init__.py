"""slurmctld's main pass and backfill cycles."""
