"""What security costs: round trips with TLS, and verbs with authorities, beside those without.

TLS and no TLS are two listeners of one queue manager, which clients use in turn. With authorities
and without are two queue managers in turn; the records grant what the round trips need to all
clients. Where valgrind is installed the instructions of a round trip are counted for both.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec
import trustme
from msgspec import Struct

import adapter
from adapter.localkafka import free_port
from benchmarks import callgrind
from benchmarks.cpu import warm_up
from benchmarks.instructions import QUEUE_MANAGER, count_queue_manager, under_callgrind
from benchmarks.results import Row, Rows
from benchmarks.stack import HERE, Code, Running, caught_up_s, compiled_here, started
from benchmarks.verbs import round_trips

ABOUT = "round trips with TLS beside without; verbs with authorities beside without"
CLIENTS = {1: (1, 1), 64: (4, 16)}
"""Processes, and threads of each."""
QUEUE = "COUNTED"
"""The name that the counted clients use, too."""
HOST = "127.0.0.1"


class Amount(Struct, frozen=True):
    """How much is measured. seconds: of the round trips of each number of clients. clients: of
    CLIENTS. is_counted: whether instructions are, too.
    """

    runs: int = 3
    seconds: float = 5.0
    clients: tuple[int, ...] = tuple(CLIENTS)
    is_counted: bool = True


AMOUNT = Amount()


class Secured(Struct, frozen=True):
    """A queue manager that runs. operator: the address at which it may be administered."""

    running: Running
    operator: str
    tls_address: str


def measure(bootstrap: str, amount: Amount = AMOUNT) -> Rows:
    """Run everything some times, each with its counterpart in turn."""
    rows = _rows()
    if amount.runs > 1:
        warm_up(bootstrap)
    with TemporaryDirectory() as made:
        folder = Path(made)
        _make_certificate(folder)
        for run in range(amount.runs):
            _measure_tls(bootstrap, f"TLS{run}", folder, amount, rows, run)
            for name in ("off", "on") if run % 2 == 0 else ("on", "off"):
                _measure_authorities(bootstrap, f"{name}{run}", name, folder, amount, rows)
        if amount.is_counted:
            _count(bootstrap, folder, rows)
    return {key: row for key, row in rows.items() if row.runs}


def _rows() -> Rows:
    rows: Rows = {}
    for count in CLIENTS:
        many = f"{count} client" + "s" * (count > 1)
        rows[f"clear-{count}"] = Row(f"round trips, {many}, in the clear", "RT/s")
        rows[f"tls-{count}"] = Row(
            f"round trips, {many}, TLS", "RT/s", against=f"clear-{count}", at_least=0.75
        )
        rows[f"off-{count}"] = Row(f"CPU of the queue manager, {many}, no authorities", "us")
        rows[f"on-{count}"] = Row(
            f"CPU of the queue manager, {many}, authorities", "us", against=f"off-{count}",
            at_most=1.02,
        )  # fmt: skip
    rows["instructions-off"] = Row("instructions of a round trip, no authorities", "instr")
    rows["instructions-on"] = Row(
        "instructions of a round trip, authorities", "instr", against="instructions-off",
        at_most=1.02,
    )  # fmt: skip
    return rows


def _make_certificate(folder: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(folder / "ca.pem")
    made = authority.issue_cert(HOST)
    (folder / "server.key").touch(0o600)
    made.private_key_pem.write_to_path(folder / "server.key")
    made.cert_chain_pems[0].write_to_path(folder / "server.pem")


@contextmanager
def _running(
    bootstrap: str, name: str, folder: Path, code: Code = HERE, *, authorities: bool = False
) -> Iterator[Secured]:
    """Run a queue manager with a queue, at three addresses."""
    port, path = free_port(), folder / f"{name}.sock"
    files = {"certificate": str(folder / "server.pem"), "key": str(folder / "server.key")}
    settings: Mapping[str, object] = {
        "tls": {"host": HOST, "port": port, **files},
        "unix_path": str(path),
        "authorities": authorities,
    }
    with started(bootstrap, name.upper(), code=code, settings=settings) as running:
        with adapter.connect(f"unix:{path}") as qm:
            qm.define_queue(QUEUE)
            if authorities:
                qm.set_authority("SELF", "qmgr", groups=["everyone"], add=["connect"])
                qm.set_authority(QUEUE, groups=["everyone"], add=["put", "get", "inq"])
        yield Secured(running, f"unix:{path}", f"{HOST}:{port}")


def _measure_tls(
    bootstrap: str, name: str, folder: Path, amount: Amount, rows: Rows, run: int
) -> None:
    trusting = msgspec.structs.replace(HERE, variables={"MQK_TLS_CA": str(folder / "ca.pem")})
    with _running(bootstrap, name, folder) as secured:
        places = [
            ("clear", secured.running.address, HERE), ("tls", secured.tls_address, trusting),
        ]  # fmt: skip
        for count in amount.clients:
            processes, threads = CLIENTS[count]
            for way, address, code in places if run % 2 == 0 else places[::-1]:
                caught_up_s(secured.operator)
                done = round_trips(
                    address, QUEUE, processes, threads, seconds=amount.seconds, code=code
                )
                rows[f"{way}-{count}"].note(done.rate, done.cpu_us)


def _measure_authorities(
    bootstrap: str, name: str, way: str, folder: Path, amount: Amount, rows: Rows
) -> None:
    with _running(bootstrap, name, folder, authorities=way == "on") as secured:
        for count in amount.clients:
            processes, threads = CLIENTS[count]
            caught_up_s(secured.operator)
            address = secured.running.address
            done = round_trips(address, QUEUE, processes, threads, seconds=amount.seconds)
            rows[f"{way}-{count}"].runs.append(done.cpu_us["queue manager"])


def _count(bootstrap: str, folder: Path, rows: Rows) -> None:
    """Count instructions, of the compiled modules if they were made."""
    if callgrind.missing():
        print(f"no instructions are counted: {callgrind.missing()}", file=sys.stderr)
        return
    code = compiled_here() or HERE
    load = QUEUE_MANAGER["qm-waiting"]
    for way in ("off", "on"):
        made = folder / f"counted-{way}"
        made.mkdir()
        watched = under_callgrind(code, made)
        is_on = way == "on"
        with _running(bootstrap, f"count{way}", folder, watched, authorities=is_on) as secured:
            figure = count_queue_manager(secured.running, made, load, code)
        rows[f"instructions-{way}"].runs.append(figure.instructions)
