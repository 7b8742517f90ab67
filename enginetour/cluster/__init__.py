"""Games on several machines: a Dask cluster as a place to play. Nothing here is loaded before somebody asks for it."""
