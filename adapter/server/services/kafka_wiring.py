"""A queue manager's parts on Kafka: topics made and checked, ledger, movers.

It knows how the parts are put together on a cluster; it knows no queue and no message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from msgspec import Struct

from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.limits import Limits
from adapter.core.contract.object_names import NAME
from adapter.errors import StartError
from adapter.host.logs import LogSettings
from adapter.host.settings import ledger_keys
from adapter.runtime.exports.kafka import KafkaExportTopics
from adapter.runtime.feeds.kafka import KafkaFeedTopics
from adapter.runtime.feeds.schemas import MakeRegistry
from adapter.runtime.network.kafka import KafkaTransport
from adapter.runtime.owner.following import LedgerFollower
from adapter.runtime.owner.owner_signs import OwnerSigns
from adapter.runtime.owner.storage import SNAPSHOT_ENTRIES, HousekeepingBounds, Storage
from adapter.server.services.movers import Movers, copy_status
from adapter.server.services.network import NetworkLink
from adapter.server.services.topics import TopicLinks
from adapter.storage.format import names
from adapter.storage.ledger.kafka import KafkaLedger, KafkaLedgerReader
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.kafka_snapshots import KafkaSnapshots
from adapter.storage.ledger.port import Ledger, LedgerError, LedgerUnavailable
from adapter.storage.ledger.seals import SealKeys
from adapter.storage.movers.process import MoverProcess
from adapter.storage.movers.recorded import RecordedProgress, check_ledger_is_there
from adapter.storage.movers.settings import KafkaCluster, MoverSettings
from adapter.storage.movers.thread import MoverThread
from adapter.storage.topics.admin import TopicAdmin, TopicError, settings_for
from adapter.storage.topics.reader import KafkaPageReader
from adapter.storage.topics.specs import (
    DAY_MS,
    TopicSettings,
    TopicSpec,
    ledger_spec,
    snapshots_spec,
)
from adapter.storage.topics.trim import KafkaTrimmer

__all__ = ["KafkaSettings", "LedgerError", "TopicError", "Wired", "wire"]


ANSWER_S = 10.0
"""For Kafka's first answer: a wrong address must not look like a slow start."""


class KafkaSettings(Struct, kw_only=True):
    """Where Kafka is, and how many copies it keeps.

    options: further librdkafka settings, for security. replication: 0 is as many copies as there
    are brokers, at most three. min_insync_replicas: 0 is all copies but one. mover_interval_ms: see
    MoverSettings. consumed_retention_ms: see owner.storage.Storage. ledger_key_file: of the keys of
    the ledger's seals; "": it is not sealed.
    """

    bootstrap_servers: str
    options: dict[str, str] = {}
    replication: int = 0
    min_insync_replicas: int = 0
    consumed_retention_ms: int = DAY_MS
    events_retention_ms: int = 7 * DAY_MS
    mover_interval_ms: int = 50
    ledger_key_file: str = ""


class Wired:
    """The parts of one queue manager on Kafka, made anew for each start."""

    def __init__(
        self,
        name: str,
        settings: KafkaSettings,
        topics: TopicSettings,
        log: LogSettings,
        keys: SealKeys,
    ) -> None:
        self._keys = keys
        self._name = name
        self._settings = settings
        self._topics = topics
        self._log = log

    def ledger(self) -> Ledger:
        """Make a ledger object on the queue manager's ledger topic."""
        return KafkaLedger(self._ledger_settings())

    def _ledger_settings(self) -> LedgerSettings:
        return LedgerSettings(
            bootstrap_servers=self._settings.bootstrap_servers,
            topic=names.ledger_topic(self._name),
            client=self._settings.options,
            keys=self._keys,
        )

    def follower(
        self,
        ledger: Ledger,
        storage: Storage,
        limits: Limits,
        heartbeat_s: float,
        on_following: Callable[[], object],
        standby: str,
        signs: OwnerSigns,
    ) -> LedgerFollower:
        """Make what follows the ledger while another process owns it; see there."""
        return LedgerFollower(
            self._name,
            ledger,
            partial(KafkaLedgerReader, self._ledger_settings()),
            storage.snapshots,
            limits,
            heartbeat_s,
            on_following,
            standby=standby,
            signs=signs,
        )

    def storage(
        self,
        movers: Movers,
        snapshot_entries: int = SNAPSHOT_ENTRIES,
        bounds: HousekeepingBounds | None = None,
    ) -> Storage:
        """Make what the queue manager keeps beside its ledger."""
        settings = self._settings
        progress = RecordedProgress(self.mover_settings())
        return Storage(
            snapshots=KafkaSnapshots(
                LedgerSettings(
                    bootstrap_servers=settings.bootstrap_servers,
                    topic=names.snapshots_topic(self._name),
                    client=settings.options,
                ),
                self._make_snapshots_topic,
            ),
            topic_problems=self.topic_problems,
            known=progress.read,
            prepare=progress.prepare,
            pages=KafkaPageReader(self._name, settings.bootstrap_servers, settings.options),
            copied=lambda: copy_status(movers),
            trimmer=KafkaTrimmer(self._name, settings.bootstrap_servers, settings.options),
            retention_ms=settings.consumed_retention_ms,
            snapshot_entries=snapshot_entries,
            bounds=bounds or HousekeepingBounds(),
            cluster_id=self._topics.cluster_id,
        )

    def _make_snapshots_topic(self) -> None:
        """Make the topic again after it was deleted: the next start needs a snapshot."""
        try:
            with self._admin() as admin:
                admin.ensure([self._specs()[1]])
        except TopicError as error:
            raise LedgerUnavailable(str(error), retriable=error.retriable) from error

    def topic_problems(self) -> list[str]:
        """Say what is wrong with the topics of ledger and snapshots. Blocking."""
        try:
            with self._admin() as admin:
                return admin.problems(self._specs())
        except TopicError as error:
            raise LedgerUnavailable(str(error), retriable=error.retriable) from error

    def _specs(self) -> list[TopicSpec]:
        return own_specs(self._name)

    def _admin(self) -> TopicAdmin:
        settings = self._settings
        return TopicAdmin(settings.bootstrap_servers, self._topics, settings.options)

    def network(self) -> NetworkLink:
        """Make what reaches other queue managers. The ledger's topic has an id of its own: a queue
        manager that is restored, or made again, is another one to those that receive from it.
        """
        settings, ledger = self._settings, names.ledger_topic(self._name)
        transport = KafkaTransport(settings.bootstrap_servers, settings.options, self._topics)
        return NetworkLink(transport, lambda: transport.identity(ledger))

    def topics(self, registry: MakeRegistry | None = None) -> TopicLinks:
        """Make what reads and writes the topics of feeds and exports.

        registry: makes the schema registry of what feeds read.
        """
        cluster = KafkaCluster(self._settings.bootstrap_servers, self._settings.options)
        feeds = KafkaFeedTopics(cluster.bootstrap_servers, cluster.options, registry)
        return TopicLinks(feeds, KafkaExportTopics(cluster, self._topics))

    def movers(self) -> Movers:
        """Make the process that copies from the ledger to the topics."""
        return MoverProcess(self.mover_settings())

    def mover_thread(self) -> Movers:
        """Make movers in this process: for queue managers that live in a test's."""
        return MoverThread(self.mover_settings())

    def mover_settings(self) -> MoverSettings:
        """Say how its movers reach Kafka."""
        here = KafkaCluster(self._settings.bootstrap_servers, self._settings.options)
        return MoverSettings(
            queue_manager=self._name,
            source=here,
            destination=here,
            topics=self._topics,
            interval_ms=self._settings.mover_interval_ms,
            log=self._log,
            keys=self._keys,
        )


def wire(name: str, settings: KafkaSettings, log: LogSettings | None = None) -> Wired:
    """Make the ledger's topic, or check the one that is there. Blocking.

    log: how a mover process logs. Raises StartError, TopicError and LedgerError.
    """
    if len(name) > NAME_LENGTH_MAX or not NAME.fullmatch(name):
        allowed = f"a name has 1 to {NAME_LENGTH_MAX} of A-Z a-z 0-9 . _ / %"
        raise StartError(f"{name!r} is not a name for a queue manager: {allowed}", name)
    try:
        keys = ledger_keys.read(settings.ledger_key_file)
    except ledger_keys.LedgerKeysError as error:
        raise StartError(str(error), name) from error
    found = settings_for(settings.bootstrap_servers, settings.options, ANSWER_S)
    copies = settings.replication or found.replication
    topics = TopicSettings(
        replication=copies,
        min_insync_replicas=settings.min_insync_replicas or max(1, copies - 1),
        events_retention_ms=settings.events_retention_ms,
        cluster_id=found.cluster_id,
    )
    wired = Wired(name, settings, topics, log or LogSettings(), keys)
    check_ledger_is_there(wired.mover_settings())
    with TopicAdmin(settings.bootstrap_servers, topics, settings.options) as admin:
        admin.ensure(own_specs(name))
    return wired


def own_specs(name: str) -> list[TopicSpec]:
    """Return what the topics of the ledger and of the snapshots must be."""
    return [ledger_spec(names.ledger_topic(name)), snapshots_spec(names.snapshots_topic(name))]
