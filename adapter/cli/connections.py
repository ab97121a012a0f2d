"""mqk connection list and end: who is connected, which units are stuck, and ending one of them."""

from __future__ import annotations

from datetime import UTC, datetime

import click
import msgspec

from adapter.cli import output
from adapter.cli.connected import connect
from adapter.command import options
from adapter.core.contract.results import ConnectionStatus, UnitStatus

APPLICATION = "mqk connection"
NUMBER_MAX = 2**63 - 1


@click.group()
def connection() -> None:
    """Connections and their units of work: list, end."""


@connection.command("list")
@click.option("--units", is_flag=True, help="Show units in flight instead, the oldest first.")
@options.queue_manager
@options.json_output
def show(units: bool, qmgr: str, as_json: bool) -> None:
    """Show who is connected; with --units, which units are in flight and for how long.

    The connection of this command itself is left out.
    """
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        found = {one.number: one for one in qm.connections()}
        flying = qm.open_units() if units else []
    others = [one for one in found.values() if not one.asks]
    if units:
        _show_units(flying, found, as_json)
    else:
        headings = (
            "number", "application", "user", "address", "since", "handles", "waiting gets",
            "units", "messages", "oldest unit (s)",
        )  # fmt: skip
        output.listing(others, as_json, headings, _row)


def _row(one: ConnectionStatus) -> tuple[object, ...]:
    oldest = one.oldest_unit_age_s if one.units else None
    return (
        str(one.number), one.application, one.user, one.address, time_of(one.since_ms), one.handles,
        one.waiting_gets, one.units, one.messages, oldest,
    )  # fmt: skip


def _show_units(
    flying: list[UnitStatus], found: dict[int, ConnectionStatus], as_json: bool
) -> None:
    rows = []
    for unit in flying:
        of = found.get(unit.connection)  # it may have come between the two questions
        application, user, address = (of.application, of.user, of.address) if of else ("", "", "")
        if as_json:
            party = {"application": application, "user": user, "address": address}
            output.emit(msgspec.structs.asdict(unit) | party)
        rows.append(
            (
                unit.age_s, str(unit.connection), application, user, unit.puts, unit.gets,
                unit.unit.hex(),
            )
        )  # fmt: skip
    if not as_json:
        headings = ("age (s)", "connection", "application", "user", "puts", "gets", "unit")
        output.table(headings, rows)


def time_of(time_ms: int) -> str:
    """A time as people write it, UTC, to the second."""
    return datetime.fromtimestamp(time_ms / 1000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@connection.command()
@click.argument("number", type=click.IntRange(1, NUMBER_MAX))
@options.queue_manager
@options.json_output
def end(number: int, qmgr: str, as_json: bool) -> None:
    """End connection NUMBER: its units are backed out, its handles closed.

    Its program gets an error with its next request. A program that uses the SDK reconnects by
    itself: stop it first if its units would only be stuck again.
    """
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        count = qm.end_connection(number)
    units = "1 unit was" if count == 1 else f"{count} units were"
    text = f"connection {number} was ended; {units} backed out"
    output.done(text, as_json, connection=number, ended=True, units_backed_out=count)
