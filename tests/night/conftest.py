"""What is collected only where the program that it needs is named."""

from __future__ import annotations

import os

collect_ignore = [] if os.environ.get("BBP_PAIRINGS") else ["test_bbp.py"]
