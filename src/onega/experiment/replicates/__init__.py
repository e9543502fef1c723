"""The same question on many workloads: resamples, models, policies compared."""
