"""A Dask cluster as an executor."""
