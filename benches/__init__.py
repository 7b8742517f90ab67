"""Benchmarks: times of enginetour, with their ratios to a baseline (see ``__main__``)."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as the command does, before numpy is loaded
