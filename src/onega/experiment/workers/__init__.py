"""Many independent tasks on threads, processes or a Dask cluster."""
