"""A UCI engine that sends a request to the control socket of its tournament; run with ``python -I -S``.

It is called with ``HOW PATH``. The path is hexadecimal, because files in a command are visible in a sandbox.
HOW is ``plain``, or ``orphan`` for a child that leaves session, parent and environment.
Its name in UCI is the response, or the reason why there was none.
"""

import contextlib
import json
import os
import socket
import sys
import time


def asked(path: str) -> str:
    try:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(20)
            connection.connect(bytes.fromhex(path))
            with contextlib.suppress(BrokenPipeError):  # the connection may be closed before the request
                connection.sendall(b'{"do":"void","game":1}\n')
            answer = json.loads(connection.makefile().readline() or '{"error":"hung up"}')
    except OSError as error:
        return f"none {error.strerror}"
    return "obeyed" if answer.get("ok") else f"refused {answer['error']}"


def by_orphan(path: str) -> str:
    told = os.path.join(os.environ["TMPDIR"], "told")
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        words = [sys.executable, "-I", "-S", __file__, "write", path, told]
        os.execve(sys.executable, words, {})
    os.wait()
    while not os.path.exists(told):
        time.sleep(0.01)
    with open(told) as file:
        return file.read()


def main(how: str, path: str) -> None:
    if how == "write":
        time.sleep(0.1)  # wait until its parent has ended
        with open(sys.argv[3] + ".new", "w") as file:
            file.write(asked(path))
        os.rename(sys.argv[3] + ".new", sys.argv[3])
        return
    for line in sys.stdin:
        words = line.split()
        if words == ["uci"]:
            print(f"id name {by_orphan(path) if how == 'orphan' else asked(path)}\nuciok", flush=True)
        elif words == ["isready"]:
            print("readyok", flush=True)
        elif words == ["quit"]:
            return


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
