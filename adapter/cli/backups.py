"""mqk ledger verify, backup and restore: to trust a ledger, to keep a copy, to go back to it.

They need Kafka, not the queue manager; a restore needs it not to run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from adapter.cli import failures, options, output
from adapter.cli.verify import Verifier
from adapter.format import names
from adapter.format.schemas import VERSION as ENTRY_VERSION
from adapter.ledger import backup as files
from adapter.ledger.backup import Header, Raw
from adapter.ledger.envelope import VERSION as ENVELOPE_VERSION
from adapter.ledger.envelope import CorruptRecord, decode
from adapter.ledger.kafka_settings import LedgerSettings
from adapter.ledger.kafka_snapshots import KafkaSnapshots
from adapter.ledger.port import LedgerError
from adapter.ledger.snapshots import Snapshot
from adapter.ledger.topic_copy import Restoring, Whole
from adapter.movers import saved
from adapter.movers.errors import Doubtful
from adapter.movers.settings import MoverSettings
from adapter.server import kafka_wiring
from adapter.topics import TopicError, settings_for

ANSWER_S = 10.0


class Report(Struct, kw_only=True):
    """What verify has come to."""

    ledger: str
    records: int
    entries: int
    owners: int
    queues: int
    messages: int
    anomalies: int


@click.command()
@click.argument("name")
@options.kafka_client_if_wanted
@click.option(
    "--file", type=click.Path(path_type=Path), metavar="FILE",
    help="Verify this backup instead of the ledger on Kafka.",
)  # fmt: skip
@options.json_output
def verify(
    name: str,
    bootstrap_servers: str | None,
    command_config: Path | None,
    settings: dict[str, str],
    file: Path | None,
    as_json: bool,
) -> None:
    """Read the whole ledger of queue manager NAME as an owner that starts does; find what is wrong.

    Every record is judged, read and replayed into a queue manager of its own; nothing is written.
    Duplicates and void records are told, and harmless: failures leave them behind. Everything else
    is an anomaly, and the exit status is 1.
    """
    with _failures():
        if file is not None:
            header = _header(file, name)
            report = _verify(str(file), name, files.read(file), header.end - header.first, as_json)
        elif bootstrap_servers is not None:
            found = _ledger(name, bootstrap_servers, command_config, settings)
            whole = Whole(found)
            size = whole.end - whole.first
            snapshot = _snapshot(name, found) if whole.first else None
            report = _verify(found.topic, name, whole.records(), size, as_json, snapshot)
        else:
            raise click.UsageError("Missing option '--bootstrap-server' or '--file'.")
    if as_json:
        output.emit(msgspec.structs.asdict(report))
    else:
        click.echo(
            f"{report.ledger}: {report.records:,} records of {report.owners:,} owners, "
            f"{report.entries:,} entries, {report.queues:,} queues, {report.messages:,} messages: "
            f"{report.anomalies or 'no'} anomal{'y' if report.anomalies == 1 else 'ies'}"
        )
    if report.anomalies:
        raise failures.Failed(
            f"{report.ledger} has anomalies, the first is named above: keep the topic as it is, "
            "and restore the queue manager from a backup that verifies (mqk ledger restore)"
        )


def _snapshot(name: str, ledger: LedgerSettings) -> Snapshot | None:
    """Return what stands for the ledger's deleted beginning."""
    topic = names.snapshots_topic(name)
    return KafkaSnapshots(msgspec.structs.replace(ledger, topic=topic)).newest()


def _verify(
    ledger: str,
    name: str,
    records: Iterable[Raw],
    size: int,
    as_json: bool,
    snapshot: Snapshot | None = None,
) -> Report:
    verifier = Verifier(name, snapshot)
    with output.progress("verifying", size) as step:
        for raw in records:
            for finding in verifier.take(raw):
                if as_json:
                    output.emit(msgspec.structs.asdict(finding))
                else:
                    kind = "" if finding.anomaly else " (harmless)"
                    click.echo(f"offset {finding.offset}{kind}: {finding.text}")
            step()
    queues = verifier.qm.queues.values()
    return Report(
        ledger=ledger,
        records=verifier.records,
        entries=verifier.entries,
        owners=verifier.owners,
        queues=len(queues),
        messages=sum(queue.depth for queue in queues),
        anomalies=verifier.anomalies,
    )


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@options.kafka_client
def backup(
    name: str,
    file: Path,
    bootstrap_servers: str,
    command_config: Path | None,
    settings: dict[str, str],
) -> None:
    """Write the ledger of queue manager NAME, up to its present end, to a new FILE.

    The queue manager may run meanwhile. The file is checked by `mqk ledger verify NAME --file FILE`
    and written back by `mqk ledger restore`.
    """
    with _failures():
        found = _ledger(name, bootstrap_servers, command_config, settings)
        whole = Whole(found)
        header = Header(
            queue_manager=name,
            topic=found.topic,
            first=whole.first,
            end=whole.end,
            made_ms=time.time_ns() // 1_000_000,
            versions=versions(),
        )
        with output.progress("writing", whole.end - whole.first) as step:
            count = files.write(file, header, stepping(whole.records(), step))
    click.echo(f"{file}: {count:,} records of {found.topic}, offsets {whole.first} to {whole.end}")


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@options.kafka_client
@click.option(
    "--delete-copies", is_flag=True,
    help="Delete the topics of the queues, of events and of progress first, so that all is copied "
    "again: for copies that another state of the ledger has left. Consumed messages that the "
    "backup does not hold go with them.",
)  # fmt: skip
def restore(
    name: str,
    file: Path,
    bootstrap_servers: str,
    command_config: Path | None,
    settings: dict[str, str],
    delete_copies: bool,
) -> None:
    """Write the backup FILE back into the ledger of queue manager NAME, which must be empty.

    The queue manager must not run. The whole file is checked before anything is written, and every
    record comes to lie at the offset that it had. Where the movers stood in the ledger is compared
    with the backup: they go on from there, or the restore is refused unless --delete-copies is
    given.
    """
    with _failures():
        header = _header(file, name)
        movers = _movers(name, bootstrap_servers, command_config, settings)
        found = saved.saved(movers)
        unfit = _check(file, header, found)
        if unfit and not delete_copies:
            raise failures.Failed(
                f"{file} was not restored, for the copies that are on Kafka belong to another "
                f"state of the ledger: {'; '.join(unfit)}. Give --delete-copies to delete "
                f"{', '.join(found.topics)}; the movers then write them again from the backup"
            )
        ledger = _empty_ledger(_ledger(name, bootstrap_servers, command_config, settings), name)
        if delete_copies:
            saved.remove(movers, found)
        with output.progress("restoring", header.end) as step:
            count = ledger.write(stepping(files.read(file), step))
    click.echo(f"{header.topic}: {count:,} records restored from {file}")
    click.echo(_what_next(name, bootstrap_servers, found, delete_copies))


def _what_next(name: str, servers: str, found: saved.Saved, deleted: bool) -> str:
    start = f"start it with `mqk qmgr start {name} --bootstrap-server {servers}`"
    if deleted or not found.topics:
        return (
            f"{start}: all messages and events are copied to new topics; their readers begin anew"
        )
    return f"{start}: copying goes on where it was; readers of the topics notice nothing"


def _empty_ledger(settings: LedgerSettings, name: str) -> Restoring:
    """Make the topic, if it is not there, and see that it is empty."""
    wanted = kafka_wiring.KafkaSettings(
        bootstrap_servers=settings.bootstrap_servers, options=dict(settings.client)
    )
    kafka_wiring.wire(name, wanted)
    restoring = Restoring(settings)
    restoring.require_empty()
    return restoring


def _check(file: Path, header: Header, found: saved.Saved) -> list[str]:
    """Read the whole file, and say which positions of movers do not stand in it."""
    if header.first:
        raise failures.Failed(
            f"{file} begins at offset {header.first}: a ledger that was trimmed cannot be restored "
            "by this release"
        )
    wanted = {position.offset for position in found.positions.values()}
    held: dict[int, tuple[bytes, int]] = {}
    with output.progress("checking", header.end) as step:
        for raw in stepping(files.read(file), step):
            if raw.offset in wanted:
                held[raw.offset] = _owner_and_n(raw)
    return [
        f"the {mover} mover had copied up to offset {at.offset} (owner {at.owner.hex()} n {at.n}), "
        "which is not in the backup"
        for mover, at in found.positions.items()
        if held.get(at.offset) != (at.owner, at.n)
    ] + [f"{topic} holds copies, and no progress tells of which state" for topic in found.orphans]


def _owner_and_n(raw: Raw) -> tuple[bytes, int]:
    try:
        envelope = decode(raw.value)
    except CorruptRecord:
        return b"", 0
    return envelope.owner, envelope.n


def _header(file: Path, name: str) -> Header:
    header = files.read_header(file)
    if header.queue_manager != name:
        raise failures.Failed(
            f"{file} is a backup of queue manager {header.queue_manager}, not of {name}: name "
            "another file, or that queue manager"
        )
    return header


def versions() -> dict[str, str | int]:
    """What writes a backup, and which formats its records have."""
    return {"mqk": metadata.version("mqk"), "envelope": ENVELOPE_VERSION, "entry": ENTRY_VERSION}


def stepping(records: Iterable[Raw], step: output.Step) -> Iterator[Raw]:
    """The same records, each a step of a bar."""
    for raw in records:
        yield raw
        step()


def _ledger(
    name: str, servers: str, command_config: Path | None, settings: dict[str, str]
) -> LedgerSettings:
    return LedgerSettings(
        bootstrap_servers=servers,
        topic=names.ledger_topic(name),
        client=options.kafka_options(command_config, settings),
    )


def _movers(
    name: str, servers: str, command_config: Path | None, settings: dict[str, str]
) -> MoverSettings:
    client = options.kafka_options(command_config, settings)
    return MoverSettings(
        queue_manager=name,
        bootstrap_servers=servers,
        topics=settings_for(servers, client, ANSWER_S),
        kafka_options=client,
    )


@contextmanager
def _failures() -> Iterator[None]:
    """Whatever is expected to go wrong is one sentence."""
    try:
        yield
    except (LedgerError, TopicError, Doubtful) as problem:
        raise failures.Failed(str(problem)) from problem
