"""The scripted engine of scripted.py, compiled once: compilation would take half of the time of its short games."""

# mypy: ignore-errors
import sys

sys.path.insert(0, __file__.rpartition("/")[0])  # missing if Python runs in isolation
from scripted import Options, Scripted

Scripted(Options()).run()
