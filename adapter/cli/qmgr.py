"""mqk qmgr stop, switch and status: a queue manager that runs, by its address.

The commands that start and list queue managers know the server and ledgers; they are imported when
they are used.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import click

import adapter
from adapter.cli import output
from adapter.cli.ending import ManagerEnd
from adapter.cli.lazy import LazyCommand, LazyGroup
from adapter.command import failures, options
from adapter.connection.channel.addresses import parse_directory
from adapter.errors import ConnectionBroken, QueueManagerQuiescing, QueueManagerStopping
from adapter.host import compiled

STOP_TIMEOUT_S = 60.0
"""For the last entries to become durable, the movers and the process to end."""
CONNECT_TIMEOUT_S = 5.0
OWNERS_MAX = 3
"""So many processes are stopped one after the other, each of which had taken over from the last."""
LOOK_TIMEOUT_S = 2.0
"""To see whether another process has the queue manager: a standby that ends leads nowhere."""
SWITCH_TIMEOUT_S = 15.0
"""For units in flight to end, and the standby to take over."""
WAITS_S = 1.0
"""So long a wait for Kafka is shown: appends take milliseconds."""
SUMMARY = (
    ("queue manager", "queue_manager"),
    ("role", "role"),
    ("state", "state"),
    ("version", "version"),
    ("code", "compiled_modules"),
    ("address", "address"),
    ("Kafka", "kafka"),
    ("uptime (s)", "uptime_s"),
    ("connections", "connections"),
    ("units in flight", "units"),
    ("queues", "queues"),
    ("commits", "commits"),
    ("backouts", "backouts"),
)
"""What `mqk qmgr status` shows of the figures, and as what."""


COMMANDS = {
    "list": LazyCommand(
        "adapter.cli.managers:list_", "List the queue managers of a Kafka, and their states."
    ),
    "start": LazyCommand("adapter.cli.starting:start", "Start the queue manager NAME on a Kafka."),
    "status": LazyCommand("adapter.cli.qmgr:status", "Show the status of a running queue manager."),
    "stop": LazyCommand("adapter.cli.qmgr:stop", "Stop a queue manager."),
    "switch": LazyCommand("adapter.cli.qmgr:switch", "Hand a queue manager over to a standby."),
}


@click.group(cls=LazyGroup, table=COMMANDS)
def qmgr() -> None:
    """Queue managers: start, stop, switch, status, list."""


def _connect(
    address: str, *, connect_timeout_s: float = CONNECT_TIMEOUT_S, wait_s: float = 0.0
) -> adapter.Connection:
    return adapter.connect(
        address,
        connect_timeout_s=connect_timeout_s,
        reconnect_timeout_s=0.0,
        wait_s=wait_s,
        application="mqk qmgr",
    )


def _check_name(name: str, qmgr: str, wanted: str | None, done: str) -> str:
    """Return the name of a queue manager, or refuse to do something to another than is wanted."""
    if wanted is not None and wanted != name:
        raise failures.Failed(
            f"queue manager {name} was not {done}: it listens at {qmgr}, and {wanted} was "
            f"to be {done}; give the address of {wanted} with --qmgr"
        )
    return name


@click.command()
@click.argument("name", required=False)
@click.option("--immediate", is_flag=True, help="Give units in flight no time to end.")
@click.option("--hand-over", is_flag=True, help="Let a standby take over; else standbys end too.")
@options.queue_manager
@options.json_output
def stop(name: str | None, immediate: bool, hand_over: bool, qmgr: str, as_json: bool) -> None:
    """Stop a queue manager. Returns when it has stopped: its processes have ended.

    Of a queue manager on another machine only the port is seen: it returns when that is closed.

    With NAME it is stopped only if that is its name.

    New work is refused, and units in flight get some seconds to end; then they are backed out. One
    that another program is stopping is waited for. If a standby had taken over from a process that
    stood still, and is at one of the addresses, it is stopped too.
    """
    for _ in range(OWNERS_MAX):
        began_s = time.monotonic()
        name = _stop(name, qmgr, immediate=immediate, hand_over=hand_over)
        if hand_over or not _had_another_owner(name, qmgr, began_s):
            break
    else:
        raise failures.Failed(
            f"queue manager {name} was stopped, and another process has it: `mqk qmgr status` says "
            "which; stop it again"
        )
    output.done(f"queue manager {name} has stopped", as_json, queue_manager=name, stopped=True)


def _stop(name: str | None, qmgr: str, *, immediate: bool, hand_over: bool) -> str:
    """Stop the process that says it is the owner, and wait for its end; the queue manager's name.

    A process that stood still may not know yet that it was replaced.
    """
    end: ManagerEnd | None = None
    try:
        with _connect(qmgr) as qm:
            name = _check_name(qm.name, qmgr, name, "stopped")
            address = qm.statistics()["address"]
            end = ManagerEnd(name, address, {})  # of one that is too far gone to say its processes
            end = ManagerEnd(name, address, qm.figures())
            qm.stop_queue_manager(immediate=immediate, hand_over=hand_over)
    except ConnectionBroken as broken:
        if isinstance(broken, QueueManagerQuiescing | QueueManagerStopping) and end is None:
            name = _check_name(broken.object_name, qmgr, name, "stopped")
            end = ManagerEnd(name, "" if parse_directory(qmgr) else qmgr, {})
        if end is None or name is None or not end.is_known:
            raise
        try:
            end.wait(STOP_TIMEOUT_S)
        except failures.Failed:
            raise broken from None
    else:
        end.wait(STOP_TIMEOUT_S)
    return name


def _had_another_owner(name: str, qmgr: str, began_s: float) -> bool:
    """Whether another process has it, and had it before it was stopped: it was not started again
    since, as a supervisor of processes may do.
    """
    try:
        with _connect(qmgr, connect_timeout_s=LOOK_TIMEOUT_S) as qm:
            running_s = float(qm.figures()["uptime_s"])
            return qm.name == name and running_s > time.monotonic() - began_s
    except adapter.Error:
        return False  # as it should be


@click.command()
@click.argument("name", required=False)
@click.option(
    "--to", default="", metavar="STANDBY",
    help="Its name or address, as `mqk qmgr status` shows it.  [default: the one that goes first]",
)  # fmt: skip
@options.queue_manager
@options.json_output
def switch(name: str | None, to: str, qmgr: str, as_json: bool) -> None:
    """Hand a queue manager over to a standby. Returns when the standby serves.

    With NAME it is handed over only if that is its name.

    Units in flight get some seconds to end. Programs go on at the standby; the process that had the
    queue manager is a standby then. If there is no standby that is ready, nothing is changed.
    """
    with _connect(qmgr) as qm:
        name = _check_name(qm.name, qmgr, name, "handed over")
        chosen = qm.switch_queue_manager(to)
    address = chosen["address"]
    try:
        _connect(address, wait_s=SWITCH_TIMEOUT_S).close()
    except adapter.errors.NotAuthorized:
        pass  # it serves
    except adapter.Error as problem:
        raise failures.Failed(
            f"queue manager {name} was handed over to {chosen['name']}, and this machine does not "
            f"see it serve at {address}: {problem}. See its log, or `mqk qmgr list`"
        ) from problem
    output.done(
        f"queue manager {name} is at {address} now, in the process that was standby "
        f"{chosen['name']}",
        as_json, queue_manager=name, owner=chosen["name"], address=address,
    )  # fmt: skip


@click.command()
@click.option("--all", "-a", "everything", is_flag=True, help="Show all figures of its process.")
@options.queue_manager
@options.json_output
def status(everything: bool, qmgr: str, as_json: bool) -> None:
    """Show the status of a running queue manager."""
    with _connect(qmgr) as qm:
        figures: dict[str, Any] = qm.figures()
    if as_json:
        output.emit(figures)
    elif everything:
        output.table(("figure", "value"), sorted(flat(figures)))
    else:
        output.pairs(summary(figures))


def summary(figures: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """What an operator looks at first. Figures that this release does not know are left out."""
    for heading, name in SUMMARY:
        if name in figures:
            value = figures[name]
            yield heading, compiled.text(value) if name == "compiled_modules" else value
    waits_s = figures.get("ledger_waits_s", 0.0)
    yield "waiting for Kafka", f"for {waits_s:.1f} s" if waits_s >= WAITS_S else "no"
    yield from standby_summary(figures)
    movers = figures.get("movers") or {}
    yield "messages to copy", max((one.get("lag_records", 0) for one in movers.values()), default=0)
    yield "copying stalled", figures.get("movers_hold") or "no"
    for topic, why in (figures.get("movers_parked") or {}).items():
        yield "topic parked", f"{topic}: {why}"
    yield from (figures.get("undone") or {}).items()
    yield from network_summary(figures.get("network") or {})
    for noun in ("feed", "export"):
        for name, one in (figures.get(f"{noun}s") or {}).items():
            if one["why"]:
                yield f"{noun} {name}", f"{one['state']}: {one['why']}"


def standby_summary(figures: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Who stands by, the one that goes first first."""
    standbys = figures.get("standbys") or {}
    if not standbys and "standbys" in figures:
        yield "standbys", "none"
    for name, one in standbys.items():
        yield f"standby {name}", standby_text(one)


def standby_text(one: Mapping[str, Any]) -> str:
    """Say where a standby is, and how far behind."""
    where = " and ".join(filter(None, (one["address"], one["tls_address"] and "TLS")))
    behind = f"{output.number(one['lag_records'], 'record')} ({one['lag_s']:.1f} s) behind"
    return f"{where}, priority {one['priority']}, {behind}"


def network_summary(figures: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """What goes to other queue managers, and what keeps it from going."""
    for queue, one in figures.get("senders", {}).items():
        error = f": {one['error']}" if one["error"] else ""
        left = one.get("not_received")
        waiting = f", {output.number(left, 'record')} not yet received" if left else ""
        yield (
            f"sender of {queue}",
            f"{one['state']}, {output.number(one['messages'], 'message')} sent{waiting}{error}",
        )
    receiver = figures.get("receiver", {})
    if receiver.get("messages"):
        yield "messages received", receiver["messages"]
    if receiver.get("trouble"):
        yield "not receiving", receiver["trouble"]
    for topic, why in receiver.get("later", {}).items():
        yield "arrivals wait for an upgrade", f"{topic}: {why}"
    for topic, queue in receiver.get("blocked", {}).items():
        yield "arrivals wait", f"{topic}: queue {queue} does not take them, nor a dead-letter queue"


def flat(figures: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    """The figures, one a line: those of a mover as movers.NAME.FIGURE."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
