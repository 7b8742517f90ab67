"""An engine that tries to act outside of its sandbox and then plays as Wren; run with ``python -I -S``.

It is called with ``WREN SOCKET VICTIM LISTENER...``: the program that plays, and, in hexadecimal, the control socket of
its tournament, a file to change and other sockets.
"""

import contextlib
import io
import os
import sys

sys.path.insert(0, os.path.dirname(__file__))
sys.dont_write_bytecode = True

from proc_asker import asked  # type: ignore[import-not-found]  # noqa: E402
from proc_odd import broken_out  # type: ignore[import-not-found]  # noqa: E402

with contextlib.redirect_stdout(io.StringIO()):
    answer = asked(sys.argv[2])
    done = broken_out(*sys.argv[3:])
sys.stderr.write(f"{answer}; {done}\n")
sys.stderr.flush()
os.execv(sys.executable, [sys.executable, sys.argv[1], "1"])
