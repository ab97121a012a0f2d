"""mqk ledger: show what happened on a queue manager, entry by entry; the rest is in backups.

Show reads as every reader of the ledger does (the same rule says which records count) but shows the
others too. It needs Kafka, not the queue manager.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import click
import msgspec

from adapter.cli import backups, explain, ledger_key, output
from adapter.cli.explain import Shown
from adapter.command import failures, options
from adapter.storage.format import names
from adapter.storage.ledger.envelope import NewerVersion
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerError, LedgerMismatch
from adapter.storage.ledger.seals import SealKeys
from adapter.storage.ledger.validity import Assembly, Validity


@click.group()
def ledger() -> None:
    """The ledger: everything that happened, in order."""


ledger.add_command(backups.verify)
ledger.add_command(backups.backup)
ledger.add_command(backups.restore)
ledger.add_command(ledger_key.key)


@ledger.command()
@click.argument("name")
@options.kafka_client
@ledger_key.keys_option
@click.option(
    "--from",
    "first",
    type=click.IntRange(min=0),
    default=0,
    metavar="OFFSET",
    help="Offset of the first record to show (earlier ones are read, too).",
)
@click.option("--limit", type=click.IntRange(min=1), help="Maximum number of records to show.")
@options.json_output
def show(
    name: str,
    kafka: options.KafkaClient,
    keys: SealKeys,
    first: int,
    limit: int | None,
    as_json: bool,
) -> None:
    """Explain the ledger of queue manager NAME, entry by entry, up to its present end.

    Records that do not count (duplicates, void and corrupt ones) are shown and marked.
    """
    topic = names.ledger_topic(name)
    found = LedgerSettings(
        bootstrap_servers=kafka.servers, topic=topic, client=kafka.options, keys=keys
    )
    wanted = (shown for shown in read(found) if shown.offset >= first)
    with failures.expect(LedgerError):
        for shown in itertools.islice(wanted, limit):
            if as_json:
                fields = msgspec.structs.asdict(shown)
                output.emit({key: value for key, value in fields.items() if key != "lines"})
            else:
                click.echo(as_text(shown))


def read(settings: LedgerSettings) -> Iterator[Shown]:
    """Read the ledger from its start to the end that it has now."""
    seals = settings.seals()
    validity: Validity | None = None
    assembly = Assembly()
    for raw in Whole(settings).records():
        try:
            if validity is None:
                is_trimmed = raw.offset > 0
                validity = Validity.of_trimmed(raw.value, seals) if is_trimmed else Validity(seals)
            verdict, envelope = validity.judge_value(raw.value)
        except NewerVersion as newer:
            raise LedgerMismatch(f"{settings.topic} at offset {raw.offset}: {newer}") from newer
        payload = assembly.take(verdict, envelope)
        size = len(raw.value or b"")
        yield explain.explain(raw.offset, raw.time_ms, size, verdict, envelope, payload)


def as_text(shown: Shown) -> str:
    """A record as a heading and a line for each thing that happened."""
    owner = "no owner" if shown.owner is None else f"owner {shown.owner[: explain.ID_DIGITS]}"
    number = "" if shown.n is None else f" n {shown.n}"
    verdict = next(
        text for kind, text in explain.MEANING.items() if kind.name.lower() == shown.verdict
    )
    heading = f"{shown.offset}  {shown.time}  {owner}{number}  {shown.bytes} bytes  {verdict}"
    return "\n".join([heading, *(f"    {line}" for line in shown.lines)])
