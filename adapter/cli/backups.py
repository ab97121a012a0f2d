"""mqk ledger verify, backup and restore: to trust a ledger, to keep a copy, to go back to it.

They need Kafka, not the queue manager; a restore needs it not to run.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import closing
from pathlib import Path

import click
import msgspec
from msgspec import Struct

from adapter.cli import ledger_key, output
from adapter.cli.verify import Observation, Verifier
from adapter.command import default_kafka, failures, options
from adapter.command.options import KafkaClient
from adapter.host import release
from adapter.runtime.owner.liveness import OwnedElsewhereError, check_free
from adapter.runtime.owner.parts import HEARTBEAT_S
from adapter.runtime.owner.replay import LedgerUnreadableError, known_entries
from adapter.storage.backup import contents as backups
from adapter.storage.backup import file as files
from adapter.storage.backup import restoring, taking
from adapter.storage.backup.contents import Contents
from adapter.storage.backup.file import BackupHeader, BackupLane, CopiedRecord, LedgerRecord
from adapter.storage.backup.kafka import KafkaBackupSource, KafkaRestoreTarget
from adapter.storage.format import names
from adapter.storage.format.schemas import VERSION as ENTRY_VERSION
from adapter.storage.ledger.envelope import VERSION as ENVELOPE_VERSION
from adapter.storage.ledger.envelope import UnknownKey
from adapter.storage.ledger.kafka import KafkaLedger
from adapter.storage.ledger.kafka_reader import Whole
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import LedgerError, LedgerMismatch, Raw
from adapter.storage.ledger.seals import NO_KEYS, SealKeys
from adapter.storage.ledger.snapshots import Snapshot
from adapter.storage.movers.errors import Doubtful
from adapter.storage.movers.recorded import (
    check_ledger_is_there,
    copied_messages,
    lanes_behind,
    read_recorded,
)
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.topics.admin import TopicError, settings_for

ANSWER_S = 10.0
EXPECTED = (
    LedgerError,
    UnknownKey,
    TopicError,
    Doubtful,
    OwnedElsewhereError,
    LedgerUnreadableError,
)


class VerifyReport(Struct, kw_only=True):
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
@ledger_key.keys_option
@click.option(
    "--file", type=click.Path(path_type=Path), metavar="FILE",
    help="Verify this backup instead of the ledger on Kafka.",
)  # fmt: skip
@options.json_output
def verify(name: str, kafka: KafkaClient, keys: SealKeys, file: Path | None, as_json: bool) -> None:
    """Read the whole ledger of queue manager NAME as an owner that starts does; find what is wrong.

    Every record is judged, read and replayed into a queue manager of its own; nothing is written.
    Duplicates and void records are reported, and harmless: failures leave them behind. All else is
    an anomaly, and the exit status is 1.
    """
    with failures.expect(*EXPECTED):
        if file is not None:
            found = _examine(file, name, keys)
            raws = (one.raw() for one in files.read(file) if isinstance(one, LedgerRecord))
            verifier = Verifier(name, found.snapshot, None, keys)
            report = _verify(str(file), verifier, raws, found.records, as_json)
        else:
            servers = kafka.servers or default_kafka.servers()
            kafka = msgspec.structs.replace(kafka, servers=servers)
            ledger, movers = _ledger(name, kafka), _movers(name, kafka)
            check_ledger_is_there(movers)
            whole = Whole(ledger)
            size = whole.end - whole.first
            newest = _snapshot(name, ledger)
            snapshot = newest if whole.first else None
            verifier = Verifier(name, snapshot, copied_messages(movers), keys)
            report = _verify(ledger.topic, verifier, whole.records(), size, as_json)
            lost = _find_losses(ledger, movers) + [
                Observation(whole.end - 1, True, text)
                for text in lanes_behind(movers, verifier.copies())
            ]
            _show(lost, as_json)
            report.anomalies += len(lost)
    if as_json:
        output.emit(msgspec.structs.asdict(report))
    else:
        click.echo(
            f"{report.ledger}: {output.number(report.records, 'record')} of "
            f"{output.number(report.owners, 'owner')}, {report.entries:,} "
            f"entr{'y' if report.entries == 1 else 'ies'}, "
            f"{output.number(report.queues, 'queue')}, "
            f"{output.number(report.messages, 'message')}: "
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


def _find_losses(ledger: LedgerSettings, movers: MoverSettings) -> list[Observation]:
    """Find what the ledger lacks of what movers have copied and the newest snapshot stands for.

    Looked at twice: between reading what is known and the ledger, a running owner may trim it.
    """
    found: list[Observation] = []
    for _ in range(2):
        known = known_entries(read_recorded(movers), _snapshot(movers.queue_manager, ledger))
        found = []
        for one in known:
            try:
                KafkaLedger(ledger).check([one])
            except LedgerMismatch as lost:
                found.append(Observation(one.position.offset, True, str(lost)))
        if not found:
            break
    return found


def _show(found: Iterable[Observation], as_json: bool) -> None:
    for finding in found:
        if as_json:
            output.emit(msgspec.structs.asdict(finding))
        else:
            kind = "" if finding.anomaly else " (harmless)"
            click.echo(f"offset {finding.offset}{kind}: {finding.text}")


def _verify(
    ledger: str, verifier: Verifier, records: Iterable[Raw], size: int, as_json: bool
) -> VerifyReport:
    with output.progress("verifying", size) as step:
        for raw in records:
            _show(verifier.take(raw), as_json)
            step()
    _show(verifier.finish(), as_json)
    queues = verifier.qm.queues.values()
    return VerifyReport(
        ledger=ledger,
        records=verifier.records,
        entries=verifier.entries,
        owners=verifier.owners,
        queues=len(queues),
        messages=sum(queue.depth for queue in queues),
        anomalies=verifier.anomalies,
    )


class CountedSource(KafkaBackupSource):
    """What a backup is taken of; calls step for each record that is read."""

    def __init__(self, movers: MoverSettings, step: output.ProgressStep) -> None:
        super().__init__(movers)
        self._step = step

    def ledger(self, first: int) -> Iterator[Raw]:
        """Read the ledger."""
        for one in super().ledger(first):
            self._step()
            yield one

    def lane(self, lane: BackupLane, seq: int) -> Iterator[CopiedRecord]:
        """Read a queue's topic."""
        for one in super().lane(lane, seq):
            self._step()
            yield one


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@options.kafka_client
@ledger_key.keys_option
@options.json_output
def backup(name: str, file: Path, kafka: KafkaClient, keys: SealKeys, as_json: bool) -> None:
    """Write all of queue manager NAME, as it is now, to a new FILE.

    The queue manager may run meanwhile. The file holds the newest snapshot, the messages that it
    speaks of and the ledger behind it; it is read once more when it is written. `mqk ledger verify
    NAME --file FILE` checks it further, and `mqk ledger restore` writes it back.
    """
    with failures.expect(*EXPECTED):
        movers = _movers(name, kafka, keys)
        made_ms = time.time_ns() // 1_000_000
        header = BackupHeader(queue_manager=name, made_ms=made_ms, versions=versions())
        with (
            output.progress("backing up", None) as step,
            closing(CountedSource(movers, step)) as source,
            files.new(file, header) as writer,
        ):
            taking.take(source, writer)
        found = _examine_new(file, keys)
        for lost in _find_losses(_ledger(name, kafka), movers):
            failures.tell(f"warning: {lost.text}. The backup holds what the ledger still says")
    if as_json:
        _emit(name, file, found)
    else:
        click.echo(f"{file}: queue manager {name} {_what(found)}")


def _emit(name: str, file: Path, found: Contents, **more: list[str]) -> None:
    output.emit(
        {
            "queue_manager": name,
            "file": str(file),
            "ledger_end": found.end,
            "records": found.records,
            "messages": found.messages,
            **more,
        }
    )


def _examine_new(file: Path, keys: SealKeys) -> Contents:
    """Read a new backup; delete one of which it is not known that it can be restored."""
    try:
        return backups.examine(file, keys)
    except BaseException:
        file.unlink()
        raise


def _what(found: Contents) -> str:
    return (
        f"as of offset {found.end - 1} of its ledger: {output.number(found.records, 'record')} of "
        f"the ledger, and {output.number(found.messages, 'message')} from before them"
    )


@click.command()
@click.argument("name")
@click.argument("file", type=click.Path(path_type=Path))
@options.kafka_client
@ledger_key.keys_option
@click.option(
    "--delete-topics", is_flag=True,
    help="Delete all topics of the queue manager first, but for those by which others send to it: "
    "they hold another state of it. Refused while it runs.",
)  # fmt: skip
@options.confirmation("Delete all topics of queue manager {name}?", "delete_topics")
@options.json_output
def restore(
    name: str,
    file: Path,
    kafka: KafkaClient,
    keys: SealKeys,
    delete_topics: bool,
    as_json: bool,
) -> None:
    """Write the backup FILE to a Kafka that holds nothing of queue manager NAME.

    The queue manager must not run. The whole file is checked before anything is written. A restore
    that did not come to its end is begun again by the same command.
    """
    with failures.expect(*EXPECTED):
        found = _examine(file, name, keys)
        target = KafkaRestoreTarget(_movers(name, kafka))
        _clear(file, target, name, _ledger(name, kafka), delete_topics)
        with output.progress("restoring", found.messages + found.records) as step:
            restoring.restore(file, found, target, step)
        kept = target.inbound()
    if as_json:
        _emit(name, file, found, kept=kept)
        return
    click.echo(f"queue manager {name} restored from {file}, {_what(found)}")
    if kept:
        click.echo(
            f"kept, with the messages that others have sent: {', '.join(kept)}; the queue manager "
            "receives them from where the backup stands"
        )
    click.echo(
        f"start it with `mqk qmgr start {name} --bootstrap-server {kafka.servers}`; what the "
        "ledger holds besides is copied to the topics then"
    )


def _clear(
    file: Path, target: KafkaRestoreTarget, name: str, ledger: LedgerSettings, delete_topics: bool
) -> None:
    """See that nothing is there; what a restore has left is deleted, and more if it is wanted."""
    existing = target.existing()
    if not existing:
        return
    if not target.is_unfinished():
        if not delete_topics:
            raise failures.Failed(
                f"{file} was not restored, for there are topics of queue manager {name}, and it "
                f"may run: {', '.join(existing)}. If it is stopped "
                "and none of them is needed, give --delete-topics to delete them first"
            )
        if ledger.topic in existing:
            _check_free(name, target, ledger)
    target.delete(existing)


def _check_free(name: str, target: KafkaRestoreTarget, ledger: LedgerSettings) -> None:
    """Refuse to delete what a queue manager uses that runs. A restore that ended before it took its
    mark away has left a ledger that no owner has written to.
    """
    try:
        check_free(name, KafkaLedger(ledger), HEARTBEAT_S)
    except LedgerMismatch:
        if not target.has_mark():
            raise


def _examine(file: Path, name: str, keys: SealKeys) -> Contents:
    header = files.read_header(file)
    if header.queue_manager != name:
        raise failures.Failed(
            f"{file} is a backup of queue manager {header.queue_manager}, not of {name}: name "
            "another file, or that queue manager"
        )
    return backups.examine(file, keys)


def versions() -> dict[str, str | int]:
    """What writes a backup, and which formats its records have."""
    return {"mqk": release.find_installed(), "envelope": ENVELOPE_VERSION, "entry": ENTRY_VERSION}


def _ledger(name: str, kafka: KafkaClient) -> LedgerSettings:
    topic = names.ledger_topic(name)
    return LedgerSettings(bootstrap_servers=kafka.servers, topic=topic, client=kafka.options)


def _movers(name: str, kafka: KafkaClient, keys: SealKeys = NO_KEYS) -> MoverSettings:
    servers, client = kafka.servers, kafka.options
    return MoverSettings(
        queue_manager=name,
        source=KafkaCluster(servers, client),
        destination=KafkaCluster(servers, client),
        topics=settings_for(servers, client, ANSWER_S),
        keys=keys,
    )
