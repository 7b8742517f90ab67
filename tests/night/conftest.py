"""Collect tests that need an external program only if it is configured."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("BBP_PAIRINGS") else ["test_bbp.py"]
