"""mqk audit: who did what, and what was refused to whom, as the queue manager has it on record."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager

import click

from adapter.cli import output
from adapter.cli.connected import connect
from adapter.cli.connections import time_of
from adapter.client.events import Event
from adapter.command import options
from adapter.core.contract.audit import KINDS
from adapter.host import texts
from adapter.storage.topics.events import EventReader

APPLICATION = "mqk audit"
WAIT_MS = 0
FOREVER_MS = -1


@click.command()
@click.option("--follow", "-f", is_flag=True, help="Go on with what comes, until Ctrl-C.")
@click.option(
    "--kind",
    "kinds",
    type=click.Choice(sorted(KINDS)),
    multiple=True,
    help="Only these. May be repeated.",
)
@click.option(
    "--name",
    metavar="NAME",
    help="Of this queue manager, which need not run; its Kafka is --bootstrap-server.",
)
@options.queue_manager
@options.kafka_client_if_wanted
@options.json_output
def audit(
    follow: bool,
    kinds: tuple[str, ...],
    name: str | None,
    qmgr: str,
    kafka: options.KafkaClient,
    as_json: bool,
) -> None:
    """Show the events of the audit that Kafka still has, oldest first.

    The queue manager raises them with the setting audit. They are on its topic of events, which
    this command reads: the options of Kafka's client are those of a user that may read it.
    """
    if name and not kafka.servers:
        raise click.UsageError("--name needs --bootstrap-server: where the events are")
    with _events(name, qmgr, kafka, FOREVER_MS if follow else WAIT_MS) as found:
        for event in found:
            if event.kind in (kinds or KINDS):
                _show(event, as_json)


@contextmanager
def _events(
    name: str | None, qmgr: str, kafka: options.KafkaClient, wait_ms: int
) -> Iterator[Iterator[Event]]:
    """Give the events of a queue manager by its name, or of the one at an address."""
    if name:
        with EventReader(name, kafka.servers, kafka.options) as reader:
            raised = reader.read(wait_ms)
            yield (Event(one.kind, one.name, one.time_ms, one.details) for one in raised)
        return
    timeout = None if wait_ms < 0 else wait_ms / 1000
    with connect(qmgr, APPLICATION, reconnect_timeout_s=0.0) as qm:
        found: Generator[Event, None, None] = qm.events(timeout, kafka_options=kafka.options)
        with closing(found):
            yield found


def _show(event: Event, as_json: bool) -> None:
    time = time_of(event.time_ms)
    if as_json:
        output.emit({"time": time, "kind": event.kind, "name": event.name, **event.details})
        return
    more = " ".join(f"{key}={texts.escape(value)}" for key, value in event.details.items())
    click.echo(f"{time} {event.kind:<17} {texts.escape(event.name) or '-'} {more}")
    output.flush()  # the next one may take a while
