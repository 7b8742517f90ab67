"""A network of the test's own: hosts in namespaces, each on a cable to one switch, and any cable can be pulled out.

The host at the other end is not told: what goes there is lost, and nobody refuses it. That is what a cut is to TCP.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial

from enginetour.engines.launch import call
from tests.touring import until

NEW = ("unshare", "--user", "--map-root-user", "--net")
INSIDE = ("nsenter", "--preserve-credentials", "--user", "--net", "--target")


def lacking() -> str:
    """Why there can be no such network here; "" where there can."""
    if shutil.which("ip") is None:
        return "no program ip: apt install iproute2"
    done = subprocess.run([*NEW, "ip", "link", "add", "type", "veth"], capture_output=True, text=True, check=False)
    return f"no network namespaces here: {done.stderr.strip()}" if done.returncode else ""


class Network:
    """Hosts by name. A namespace lives as long as the process that was started with it, or another one in it."""

    def __init__(self, *hosts: str) -> None:
        self._hosts: dict[str, subprocess.Popen[bytes]] = {}
        self._switch = _living(*NEW, "cat")
        _ip(self._switch, "link add switch type bridge", "link set switch up")
        for name in hosts:
            host = self._hosts[name] = _living(*INSIDE, str(self._switch.pid), "unshare", "--net", "cat")
            cable = self._cable(name)
            _ip(self._switch, f"link add {cable} type veth peer name cable netns {host.pid}")
            _ip(self._switch, f"link set {cable} master switch up")
            _ip(host, f"address add {self.address(name)}/24 dev cable", "link set cable up", "link set lo up")

    def address(self, name: str) -> str:
        """Of a host."""
        return f"10.0.0.{self._number(name)}"

    def enter(self, name: str) -> Callable[[], None]:
        """What brings a new process to a host."""
        return partial(_enter, self._hosts[name].pid)

    def pull(self, name: str) -> None:
        """Out of the switch."""
        _ip(self._switch, f"link set {self._cable(name)} down")

    def plug(self, name: str) -> None:
        """In again."""
        _ip(self._switch, f"link set {self._cable(name)} up")

    def close(self) -> None:
        """All hosts, and the switch."""
        for process in (*self._hosts.values(), self._switch):
            process.communicate()

    def _number(self, name: str) -> int:
        return 1 + list(self._hosts).index(name)

    def _cable(self, name: str) -> str:
        return f"cable{self._number(name)}"


def _living(*words: str) -> subprocess.Popen[bytes]:
    """A process in a namespace of its own, up to the end of its input."""
    process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    until(lambda: os.readlink(f"/proc/{process.pid}/exe").endswith("/cat"))
    return process


def _ip(where: subprocess.Popen[bytes], *commands: str) -> None:
    for words in commands:
        subprocess.run([*INSIDE, str(where.pid), "ip", *words.split()], check=True)


def _enter(pid: int) -> None:
    for kind in ("user", "net"):
        space = os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY)
        call("setns", space, 0)
        os.close(space)
