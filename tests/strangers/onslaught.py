"""Sends what strangers send, many at once, while a client that is known goes on being served.

Every connection must end: soon after the stranger's last byte if it says that this was the last,
and within the bound of a silent one if it does not. Memory, open files and the log are looked at.
"""

from __future__ import annotations

import contextlib
import select
import socket
import subprocess
import sys
import time
from collections import Counter, deque
from collections.abc import Iterator
from pathlib import Path
from random import Random

import msgspec

import adapter
from tests.strangers import attempts, site
from tests.strangers.attempts import TlsStranger
from tests.strangers.site import Ports

IN_FLIGHT = 16
END_S = 20.0
"""On a busy machine; undisturbed a connection ends in milliseconds, a silent one in 1.3 s."""
SERVED_S = 5.0
TURN_EVERY = 25
SILENT_ONE_IN = 400
RESET_ONE_IN = 20
FILES_MORE = 4
MEGABYTE = 1 << 20
GROWTH_BYTES = 48 * MEGABYTE
"""What stays: pools and caches that fill once. 250 bytes of each of 200,000 attempts exceed it."""
PEAK_BYTES = 200 * MEGABYTE
"""What may be there for a moment: a password's check takes 64 MiB."""
PORTS = ("mqk", "mqk", "mqk_tls", "mqk_tls", "http", "https", "registry")


class Report(msgspec.Struct):
    """What came of it. Times are in seconds, memory in bytes."""

    attempts: int
    by_port: dict[str, int]
    took_s: float
    cpu_s: float
    longest_end_s: float
    longest_turn_s: float
    turns: int
    memory_before: int
    memory_after: int
    memory_peak: int


class Site:
    """The process of site.py."""

    def __init__(self, process: subprocess.Popen[bytes], ports: Ports, folder: Path) -> None:
        self.ports = ports
        self.folder = folder
        self._process = process

    def memory(self, name: str = "VmRSS") -> int:
        """Return a figure of its memory, in bytes."""
        for line in self._read("status").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        raise AssertionError(f"no {name}")

    def forget_peak(self) -> None:
        """Count VmHWM from now on."""
        Path(f"/proc/{self._process.pid}/clear_refs").write_text("5")

    def cpu_s(self) -> float:
        """How much CPU time it has used."""
        fields = self._read("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def files(self) -> int:
        """How many files and sockets it has open."""
        return len(list(Path(f"/proc/{self._process.pid}/fd").iterdir()))

    def await_files(self, most: int) -> None:
        """Wait until it has no more than this many files open."""
        until_s = time.monotonic() + END_S
        while self.files() > most:
            assert time.monotonic() < until_s, f"{self.files()} files are open, {most} were before"
            time.sleep(0.02)

    def complaints(self) -> list[str]:
        """Return what it logged as errors of its own; "" is none."""
        with (self.folder / "log").open(errors="replace") as lines:
            return [
                one for one in lines if '"level":"error"' in one.replace(" ", "") or one[0] != "{"
            ]

    def _read(self, file: str) -> str:
        assert self._process.poll() is None, (self.folder / "log").read_text()[-3000:]
        return Path(f"/proc/{self._process.pid}/{file}").read_text()


@contextlib.contextmanager
def running(folder: Path) -> Iterator[Site]:
    """Run a site; it has ended well when this returns."""
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.strangers.site", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (folder / "log").read_text()
        yield Site(process, msgspec.json.decode(line, type=Ports), folder)
        process.communicate(timeout=END_S)
        assert process.returncode == 0, (folder / "log").read_text()[-3000:]
    finally:
        process.kill()
        process.communicate()


class Onslaught:
    """Attempts on one site, determined by a seed."""

    def __init__(self, target: Site, seed: int) -> None:
        self._site = target
        self._chance = Random(seed)
        self._tls = TlsStranger(target.folder)
        self._waiting: deque[tuple[str, socket.socket, float]] = deque()
        self._silent: deque[tuple[str, socket.socket, float]] = deque()
        self._by_port: Counter[str] = Counter()
        self._longest_end_s = self._longest_turn_s = 0.0
        self._turns = 0

    def run(self, count: int) -> Report:
        """Make so many attempts; AssertionError says what a stranger could do."""
        with self._known() as qm:
            qm.define_queue("KNOWN", replace=True)
            self._go(qm, max(200, count // 20))  # what is loaded and kept once
            self._settle()
            files, before = self._site.files(), self._site.memory()
            self._site.forget_peak()
            self._longest_end_s = self._longest_turn_s = 0.0
            self._by_port.clear()
            began_s, cpu_s = time.monotonic(), self._site.cpu_s()
            self._go(qm, count)
            self._settle()
            self._site.await_files(files + FILES_MORE)
            report = Report(
                attempts=count,
                by_port=dict(self._by_port),
                took_s=time.monotonic() - began_s,
                cpu_s=self._site.cpu_s() - cpu_s,
                longest_end_s=self._longest_end_s,
                longest_turn_s=self._longest_turn_s,
                turns=self._turns,
                memory_before=before,
                memory_after=self._site.memory(),
                memory_peak=self._site.memory("VmHWM"),
            )
            assert {one.user for one in qm.connections()} == {site.USER}, "a stranger was let in"
        self._judge(report)
        return report

    def _judge(self, report: Report) -> None:
        complaints = self._site.complaints()
        assert not complaints, "".join(complaints[:5])
        assert report.memory_after - report.memory_before < GROWTH_BYTES, report
        assert report.memory_peak - report.memory_before < PEAK_BYTES, report
        assert report.longest_turn_s < SERVED_S, report

    def _known(self) -> adapter.Connection:
        return adapter.connect(
            f"127.0.0.1:{self._site.ports.mqk_tls}",
            tls=self._site.folder / f"{site.AUTHORITY}.pem",
            user=site.USER,
            password=site.PASSWORD,
            reconnect_timeout_s=0.0,
        )

    def _go(self, qm: adapter.Connection, count: int) -> None:
        for number in range(count):
            port = PORTS[number % len(PORTS)]
            self._by_port[port] += 1
            self._attempt(port)
            if not number % TURN_EVERY:
                self._turn(qm)
            while len(self._waiting) > IN_FLIGHT:
                self._await_end(*self._waiting.popleft())
            while self._silent and time.monotonic() - self._silent[0][2] > 2 * site.SILENT_S:
                self._await_end(*self._silent.popleft())

    def _settle(self) -> None:
        for waiting in (self._waiting, self._silent):
            while waiting:
                self._await_end(*waiting.popleft())

    def _turn(self, qm: adapter.Connection) -> None:
        began_s = time.monotonic()
        body = b"%d" % self._turns
        qm.put("KNOWN", body, persistent=False)
        message = qm.get("KNOWN")
        assert message is not None
        assert message.body == body
        self._turns += 1
        self._longest_turn_s = max(self._longest_turn_s, time.monotonic() - began_s)

    def _attempt(self, port: str) -> None:
        chance = self._chance
        is_http = port in ("http", "https", "registry")
        seeds = attempts.REQUESTS_OF_HTTP if is_http else attempts.HELLOS
        dear = attempts.WITH_BASIC if is_http else attempts.WITH_PASSWORD
        said = attempts.first_bytes(seeds, dear, chance)
        sock = socket.create_connection(("127.0.0.1", getattr(self._site.ports, port)), END_S)
        is_reset = not chance.randrange(RESET_ONE_IN)
        is_silent = port == "mqk" and not chance.randrange(SILENT_ONE_IN)
        with contextlib.suppress(ConnectionError):  # it has closed in the midst of it: it may
            if port in ("mqk", "http"):
                self._send(sock, said)
            else:
                self._tls.attempt(sock, said, chance)
        if is_reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            sock.close()
            return
        if not is_silent:
            with contextlib.suppress(OSError):  # it has closed already
                sock.shutdown(socket.SHUT_WR)
        (self._silent if is_silent else self._waiting).append((port, sock, time.monotonic()))

    def _send(self, sock: socket.socket, said: bytes) -> None:
        """Send in one piece, or in two that come by themselves."""
        if not self._chance.randrange(4):
            cut = self._chance.randrange(len(said) + 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.sendall(said[:cut])
            said = said[cut:]
        sock.sendall(said)

    def _await_end(self, port: str, sock: socket.socket, since_s: float) -> None:
        """Wait until the server has closed the connection."""
        until_s = time.monotonic() + END_S
        with sock, contextlib.suppress(ConnectionError):
            while True:
                left_s = until_s - time.monotonic()
                ready = left_s > 0 and select.select([sock], [], [], left_s)[0]
                assert ready, f"a connection to {port} was open after {END_S} s"
                if not sock.recv(1 << 16):
                    break
        if port != "mqk":  # of silent ones, and those behind them, the wait is on purpose
            self._longest_end_s = max(self._longest_end_s, time.monotonic() - since_s)
