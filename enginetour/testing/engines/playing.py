"""The scripted engine of scripted.py, compiled once, because compiling takes half of the time of its short games."""

# mypy: ignore-errors
import sys

sys.path.insert(0, __file__.rpartition("/")[0])  # not set if Python runs in isolated mode
from scripted import Options, Scripted

Scripted(Options()).run()
