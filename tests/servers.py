"""A PostgreSQL server of the tests' own: in a folder of its own, on a free port, gone with the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any

from enginetour.engines.launch import call

PROGRAMS = Path("/usr/lib/postgresql")  # Debian keeps each version's in a folder of its own
PR_SET_PDEATHSIG = 1  # prctl(2)
_NUMBERS = count(1)


def lacking() -> str:
    """Why there can be no server here, with the next step; "" where there can."""
    if find_spec("psycopg") is None:
        return "psycopg is not installed: pip install 'enginetour[postgres]'"
    return "" if programs() else "PostgreSQL is not on this machine: apt install postgresql-15"


def programs() -> Path | None:
    """The folder of initdb and postgres, of the newest version that is here; None without."""
    found = sorted(PROGRAMS.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    initdb = shutil.which("initdb")
    return Path(initdb).resolve().parent if initdb else None


def nobody() -> str | None:
    """Whom a server runs as: it refuses root."""
    if os.getuid() != 0:
        return None
    names = {entry.pw_name for entry in pwd.getpwall()}
    return "postgres" if "postgres" in names else "nobody"


def _die_with_the_tests() -> None:
    """However they end: a server that is left over would stay until the machine is shut down."""
    call("prctl", PR_SET_PDEATHSIG, signal.SIGQUIT)


@dataclass
class Server:
    """A running server; `url` names databases of it, which `database` makes."""

    programs: Path
    folder: Path
    port: int
    process: subprocess.Popen[bytes] = field(init=False)

    def start(self) -> None:
        """Start, or start again after `stop`, on the same port; from the main thread, with which it dies."""
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": self.folder,
            "fsync": "off",  # the machine does not lose power in these tests
            "max_connections": 40,
            "shared_buffers": "16MB",
            "log_min_messages": "fatal",
        }
        command = [os.fspath(self.programs / "postgres"), "-D", os.fspath(self.folder / "data")]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, user=nobody(), cwd=self.folder, preexec_fn=_die_with_the_tests
            )
        while self.process.poll() is None:
            if self.answers():
                return
        raise RuntimeError((self.folder / "log").read_text())

    def stop(self, how: signal.Signals = signal.SIGQUIT) -> None:
        """End it: SIGQUIT at once, as a crash does; SIGINT in order."""
        self.process.send_signal(how)
        self.process.wait()

    def ask_there(self, url: str, statement: str) -> list[tuple[Any, ...]]:
        """The same in the database and schema of an address."""
        import psycopg

        with psycopg.connect(url, autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def holds(self, url: str) -> list[tuple[Any, ...]]:
        """Every column and index of a schema with its type, and the comments on its tables."""
        columns = """SELECT table_name, column_name, data_type, is_nullable, collation_name
        FROM information_schema.columns WHERE table_schema = current_schema() ORDER BY 1, ordinal_position"""
        indexes = "SELECT indexname, tablename FROM pg_indexes WHERE schemaname = current_schema() ORDER BY 1"
        comments = """SELECT relname, obj_description(oid) FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' ORDER BY 1"""
        return [row for asked in (columns, indexes, comments) for row in self.ask_there(url, asked)]

    def answers(self) -> bool:
        """It lets its owner in; a try takes a few milliseconds of its own."""
        import psycopg

        try:
            self.ask("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def ask(self, statement: str) -> list[tuple[Any, ...]]:
        """What the server's owner is answered."""
        return self.ask_there(self.url("postgres"), statement)

    def url(self, database: str, user: str = "tester", password: str = "") -> str:
        """The address of a database."""
        who = f"{user}:{password}" if password else user
        return f"postgresql://{who}@127.0.0.1:{self.port}/{database}"

    def cut(self, name: str) -> None:
        """End the connections whose name is like this, and wait until they are gone."""
        like = f"FROM pg_stat_activity WHERE application_name LIKE '{name}'"
        self.ask(f"SELECT pg_terminate_backend(pid, 10000) {like}")

    def user(self, name: str, password: str) -> str:
        """A new user who may do nothing yet; the name, which no other test has."""
        name = f"{name}{next(_NUMBERS)}"
        self.ask(f"CREATE USER {name} PASSWORD '{password}'")
        return name

    @staticmethod
    def schema_of(url: str) -> str:
        """The schema an address names."""
        return url.rpartition("%3D")[2]

    def schema(self) -> str:
        """A new schema of one database, empty: made in a hundredth of the time of a database; its address."""
        name = f"s{next(_NUMBERS)}"
        self.ask(f"CREATE SCHEMA {name}")
        return f"{self.url('postgres')}?options=-csearch_path%3D{name}"

    def database(self, name: str = "", more: str = "") -> str:
        """A new database, empty; its address."""
        name = name or f"t{next(_NUMBERS)}"
        self.ask(f'CREATE DATABASE "{name}" {more}')
        return self.url(name)


@contextmanager
def server() -> Iterator[Server]:
    """A server with a superuser `tester`, who needs no password; everybody else does."""
    found = programs()
    assert found is not None
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        user = nobody()
        if user is not None:
            shutil.chown(folder, user)
        options = [
            "-U",
            "tester",
            "-E",
            "UTF8",
            "--locale=C",
            "-A",
            "trust",
            "--no-sync",
            "-D",
            os.fspath(folder / "data"),
        ]
        subprocess.run(
            [os.fspath(found / "initdb"), *options],
            user=user,
            check=True,
            stdout=subprocess.DEVNULL,
            cwd=folder,
        )
        rules = "host all tester 127.0.0.1/32 trust\nhost all all 127.0.0.1/32 scram-sha-256\nlocal all all trust\n"
        (folder / "data" / "pg_hba.conf").write_text(rules)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        made = Server(found, folder, port)
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
