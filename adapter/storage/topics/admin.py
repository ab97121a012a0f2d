"""Creating the topics of a queue manager, and checking those that are there.

How they must be, specs say. This module knows topics and settings; it must not know what is written
to them.
"""

import re
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, TopicCollection, TopicPartition
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # missing from its __all__
    AdminClient,
    ClusterMetadata,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)
from msgspec import structs

from adapter.storage.ledger.answers import answer_of
from adapter.storage.ledger.failures import Failure, classify, describe, error_of, explain
from adapter.storage.ledger.kafka_settings import LOG, RECONNECTS, RECONNECTS_AT_ONCE, LastRefusal
from adapter.storage.topics.specs import AT_LEAST, EXACT, TopicSettings, TopicSpec

GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.OFFSET_OUT_OF_RANGE})
MAY_NOT_CREATE = frozenset(
    {KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.CLUSTER_AUTHORIZATION_FAILED}
)
CREATING, ADDING = "creating", "adding partitions to"
TRIMMING, DELETING = "deleting records of", "deleting"
READING_SETTINGS, ASKING = "asking for the settings of", "asking for"
RIGHTS = {
    CREATING: "Create",
    ADDING: "Alter",
    TRIMMING: "Delete",
    DELETING: "Delete",
    READING_SETTINGS: "DescribeConfigs",
}
"""Which right on a topic is needed for what; for all else it is Describe."""
REACH = "check that the brokers run and can be reached"
REMEDIES = {
    Failure.RETRY: REACH,
    Failure.DOUBTFUL: REACH,
    Failure.FATAL: "change what Kafka names",
}
FENCED = "brokers are currently fenced"
"""In what Kafka says where no broker has been heard of by its controller for some seconds, as all
of them have just started or have stood still: one is heard of again soon."""
REFRESH_MS = 2000
"""A request waits for the controller. A Kafka whose brokers are fenced names none, and librdkafka
asks for it once, and then with its next look at the brokers, which is five minutes later of itself.
It looks at the topics then that it knows by name, and is not to make one again that is deleted."""
COUNTS = re.compile(r" has ([0-9]+) partitions and needs ([0-9]+)")
POLL_S = 0.05
SPARE_S = 5.0
"""The client times its requests by itself, and somewhat late."""


class TopicError(Exception):
    """Topics could not be created, or one that exists is not as it must be.

    retriable: whether trying again may help; if not, an operator must change what the text names.
    """

    def __init__(self, text: str, *, retriable: bool = False) -> None:
        super().__init__(text)
        self.retriable = retriable


class TopicAdmin:
    """Creates and checks topics. Every call blocks, at most about settings.timeout_s.

    client: further librdkafka settings, for security. Raises TopicError.
    """

    def __init__(
        self,
        bootstrap_servers: str,
        settings: TopicSettings,
        client: Mapping[str, Any] | None = None,
    ) -> None:
        self._servers = bootstrap_servers
        self._settings = settings
        self._admin = admin_client(bootstrap_servers, client)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *failure: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the connections at once, also if something refers to this admin still."""
        self._admin.__exit__(None, None, None)

    def ensure(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Create the topics that are missing and check the others; the names of the created."""
        created = self._create(specs)
        grown = self._grow([spec for spec in specs if spec.grows and spec.name not in created])
        self._await_leaders({spec.name: grown.get(spec.name, 1) for spec in specs})
        self.check([spec for spec in specs if spec.name not in created])
        return created

    def check(self, specs: Sequence[TopicSpec]) -> None:
        """Refuse existing topics that could lose or reorder what is written to them.

        A topic that another process has created just now may not be known to every broker yet.
        """
        if not specs:
            return
        problems = self._problems(specs, time.monotonic() + self._settings.timeout_s)
        if problems:
            wrong = {problem.partition(" has ")[0] for problem in problems}
            instead = " and ".join(sorted({one.instead for one in specs if one.name in wrong}))
            raise TopicError(
                f"topics on {self._servers} have wrong settings: {'; '.join(problems)}. "
                f"{remedies(problems)}, or {instead}"
            )

    def problems(self, specs: Sequence[TopicSpec]) -> list[str]:
        """Say of topics that should exist what is wrong with them; one that is gone is wrong."""
        try:
            # All of them: one that is gone would be created again by asking for its name.
            there = self._admin.list_topics(timeout=self._settings.timeout_s).topics
        except KafkaException as error:
            raise self._failure("asking for the topics", "", error) from error
        gone = [f"{spec.name} does not exist" for spec in specs if spec.name not in there]
        existing = [spec for spec in specs if spec.name in there]
        return gone + (self._problems(existing, 0.0) if existing else [])

    def _problems(self, specs: Sequence[TopicSpec], until_s: float) -> list[str]:
        """until_s: up to when a broker is asked again that does not know a topic."""
        effective = self._describe([spec.name for spec in specs], until_s)
        return [
            problem
            for spec in specs
            for problem in (
                *self._layout_problems(spec, until_s),
                *setting_problems(spec, self._complete(spec), effective[spec.name]),
            )
        ]

    def identities(self, names: Iterable[str], right: str = "Describe") -> dict[str, str]:
        """Return the ids that Kafka gave to those of these topics that are there.

        right: that the errors name; one that includes Describe, if more is done with them.
        """
        listed = list(names)
        asked = self._admin.describe_topics(
            TopicCollection(listed), request_timeout=self._settings.timeout_s
        )
        found = self._answers(asked, ASKING, KafkaError.UNKNOWN_TOPIC_OR_PART, right=right)
        return {name: str(one.topic_id) for name, one in found.items()}

    def bounds(self, name: str) -> tuple[int, int]:
        """Return the offsets of the first record of partition 0, and behind the last."""
        place = TopicPartition(name, 0)
        earliest = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        timeout_s = self._settings.timeout_s
        futures = [
            self._admin.list_offsets({place: one}, request_timeout=timeout_s)[place]
            for one in (earliest, latest)
        ]
        try:
            first, end = (self._result(future).offset for future in futures)
        except KafkaException as error:
            raise self._failure("asking for the bounds of", name, error) from error
        if min(first, end) < 0:  # librdkafka has this in place of an error: a lost connection
            raise TopicError(f"asking for the bounds of {name}: no answer", retriable=True)
        return first, end

    def trim(self, offsets: Mapping[str, int]) -> None:
        """Delete the records of partition 0 before an offset; those that are gone are no error."""
        wanted = [TopicPartition(name, 0, offset) for name, offset in offsets.items()]
        futures = self._admin.delete_records(wanted, **self._timeouts()) if wanted else {}
        by_name = {place.topic: future for place, future in futures.items()}
        self._answers(by_name, TRIMMING, *GONE)

    def delete(self, names: Iterable[str]) -> None:
        """Delete topics with all they hold; those that do not exist are no error."""
        listed = list(names)
        futures = self._admin.delete_topics(listed, **self._timeouts()) if listed else {}
        self._answers(futures, DELETING, KafkaError.UNKNOWN_TOPIC_OR_PART)

    def _complete(self, spec: TopicSpec) -> dict[str, str]:
        """All settings of a topic: its kind's, and those of every topic."""
        return {
            **spec.settings,
            "min.insync.replicas": str(self._settings.min_insync_replicas),
            "unclean.leader.election.enable": "false",
        }

    def _create(self, specs: Sequence[TopicSpec]) -> list[str]:
        wanted = [
            NewTopic(
                spec.name,
                num_partitions=spec.partitions,
                replication_factor=self._settings.replication,
                config=self._complete(spec),
            )
            for spec in specs
        ]
        created: list[str] = []
        deadline_s = time.monotonic() + self._settings.timeout_s
        while wanted:
            futures = self._admin.create_topics(wanted, **self._timeouts())
            again = time.monotonic() < deadline_s
            tried = {name: self._why_failed(one) for name, one in futures.items()}
            why = {name: error for name, error in tried.items() if error is not None}
            early = {name for name, error in why.items() if again and _says_fenced(error)}
            passed = early | {name for name, error in why.items() if self._is_there(name, error)}
            answers = {name: one for name, one in futures.items() if name not in passed}
            created += self._answers(answers, CREATING, KafkaError.TOPIC_ALREADY_EXISTS)
            wanted = [one for one in wanted if one.topic in early]
            if wanted:
                time.sleep(POLL_S)
        return created

    def _why_failed(self, future: Future[Any]) -> KafkaError | None:
        """Why an answer did not come; not as an exception, whose frames would hold the client."""
        try:
            self._result(future)
        except KafkaException as error:
            return error_of(error)
        return None

    def _is_there(self, name: str, error: KafkaError) -> bool:
        """Whether a topic may not be created and needs not be: Kafka refuses before it looks."""
        return error.code() in MAY_NOT_CREATE and bool(self._metadata(name))

    def _grow(self, specs: Sequence[TopicSpec]) -> dict[str, int]:
        """Add the partitions that existing topics lack; how many those have then."""
        few = [spec for spec in specs if 0 < len(self._metadata(spec.name)) < spec.partitions]
        wanted = [NewPartitions(spec.name, spec.partitions) for spec in few]
        futures = self._admin.create_partitions(wanted, **self._timeouts()) if wanted else {}
        was_faster = KafkaError.INVALID_PARTITIONS  # another process
        self._answers(futures, ADDING, was_faster)
        return {spec.name: spec.partitions for spec in few}

    def _await_leaders(self, least: Mapping[str, int]) -> None:
        """Wait until every partition has a leader: a topic just created has none for a moment.

        least: how many partitions each topic has, at least.
        """
        deadline_s = time.monotonic() + self._settings.timeout_s
        while missing := [name for name in least if not self._has_leaders(name, least[name])]:
            if time.monotonic() > deadline_s:
                raise TopicError(
                    f"{', '.join(missing)} on {self._servers} have partitions without a leader "
                    f"after {self._settings.timeout_s:g} s: check that all brokers run",
                    retriable=True,
                )
            time.sleep(POLL_S)

    def _has_leaders(self, name: str, least: int) -> bool:
        partitions = self._metadata(name)
        return len(partitions) >= least and all(one.leader >= 0 for one in partitions.values())

    def _metadata(self, name: str) -> Mapping[int, Any]:
        try:
            found = self._admin.list_topics(name, self._settings.timeout_s).topics[name]
        except KafkaException as error:
            raise self._failure(ASKING, name, error) from error
        partitions: Mapping[int, Any] = found.partitions
        return partitions

    def _layout_problems(self, spec: TopicSpec, until_s: float) -> list[str]:
        partitions = self._metadata(spec.name)
        least = spec.partitions if spec.grows else 1
        while len(partitions) < least and time.monotonic() < until_s:
            time.sleep(POLL_S)
            partitions = self._metadata(spec.name)
        problems = []
        count = len(partitions)
        if count < spec.partitions or (count > spec.partitions and not spec.grows):
            problems.append(f"{spec.name} has {count} partitions and needs {spec.partitions}")
        copies = min((len(one.replicas) for one in partitions.values()), default=0)
        if copies < self._settings.replication:
            problems.append(
                f"{spec.name} has replication {copies} and needs {self._settings.replication}"
            )
        return problems

    def _describe(self, names: Sequence[str], until_s: float) -> dict[str, dict[str, str]]:
        """The settings in force of some topics."""
        effective: dict[str, dict[str, str]] = {}
        while missing := [name for name in names if name not in effective]:
            asked = [ConfigResource(ResourceType.TOPIC, name) for name in missing]
            futures = self._admin.describe_configs(asked, request_timeout=self._settings.timeout_s)
            by_name = {resource.name: future for resource, future in futures.items()}
            asks_again = time.monotonic() < until_s
            passed_over = (KafkaError.UNKNOWN_TOPIC_OR_PART,) if asks_again else ()
            found = self._answers(by_name, READING_SETTINGS, *passed_over)
            for name, entries in found.items():
                effective[name] = {entry.name: str(entry.value) for entry in entries.values()}
            if len(found) < len(missing):
                time.sleep(POLL_S)
        return effective

    def _answers(
        self, futures: Mapping[str, Future[Any]], doing: str, *passed_over: int, right: str = ""
    ) -> dict[str, Any]:
        """Wait for answers about topics, by their names. passed_over: codes of errors of topics
        that are left out. Raises TopicError for others; doing: what it says, before the name.
        right: that is needed; "": that of doing.
        """
        found = {}
        for name, future in futures.items():
            try:
                found[name] = self._result(future)
            except KafkaException as error:
                if error_of(error).code() not in passed_over:
                    raise self._failure(doing, name, error, right) from error
        return found

    def _result(self, future: Future[Any]) -> Any:
        """Wait for an answer; see answer_of()."""
        return answer_of(future, self._settings.timeout_s + SPARE_S)

    def _timeouts(self) -> dict[str, float]:
        return {
            "operation_timeout": self._settings.timeout_s,
            "request_timeout": self._settings.timeout_s,
        }

    def _failure(self, doing: str, name: str, error: KafkaException, right: str = "") -> TopicError:
        failure = Failure.RETRY if _says_fenced(error_of(error)) else classify(error)
        why = explain(error, right or RIGHTS.get(doing, "Describe"), name)
        if failure is not Failure.DENIED:
            why += f"; {REMEDIES[failure]}, then try again"
        return TopicError(
            f"{f'{doing} {name}'.strip()} on {self._servers} failed: {why}",
            retriable=failure in (Failure.RETRY, Failure.DOUBTFUL),
        )


def _says_fenced(error: KafkaError) -> bool:
    return FENCED in error.str()


def admin_client(bootstrap_servers: str, client: Mapping[str, Any] | None) -> AdminClient:
    """Make the client that creates and describes; it connects when it is first used."""
    connect: dict[str, Any] = {
        **RECONNECTS,
        "topic.metadata.refresh.interval.ms": REFRESH_MS,
        "allow.auto.create.topics": False,
        **(client or {}),
        "bootstrap.servers": bootstrap_servers,
    }
    try:
        return AdminClient(connect, logger=LOG)
    except KafkaException as error:
        raise TopicError(
            f"the settings for Kafka at {bootstrap_servers!r} are not accepted: "
            f"{describe(error)}; correct them"
        ) from error


def remedies(problems: Iterable[str]) -> str:
    """Say how to correct what is wrong with topics. problems: as check and problems word them."""
    text = "; ".join(problems)
    found = []
    counts = [(int(has), int(needs)) for has, needs in COUNTS.findall(text)]
    few = sorted({needs for has, needs in counts if has < needs})
    if few:
        numbers = " and ".join(map(str, few))
        found.append(
            f"add the partitions that are missing (kafka-topics --alter --partitions {numbers})"
        )
    if any(has > needs for has, needs in counts):
        found.append(
            "Kafka cannot take partitions away: delete the topic (kafka-topics --delete) if its "
            "records are not needed, and mqk creates it again"
        )
    if " has replication " in text:
        found.append("raise the replication (kafka-reassign-partitions)")
    if not found or "=" in text:
        found.append("change the settings (kafka-configs)")
    joined = ", and ".join(found)
    return joined[0].upper() + joined[1:]


def setting_problems(
    spec: TopicSpec, wanted: Mapping[str, str], effective: Mapping[str, str]
) -> list[str]:
    """What is wrong with a topic's settings, for people; pure."""
    problems = []
    for key, value in wanted.items():
        have = effective.get(key, "")
        if key in spec.tunable or _parts(have) == _parts(value):
            continue
        if key in AT_LEAST and have.isdigit() and int(have) >= int(value):
            continue
        if key in EXACT or key in AT_LEAST:
            problems.append(f"{spec.name} has {key}={have} and needs {value}")
    return problems


def _parts(value: str) -> set[str]:
    """Return what a setting lists; one that is no list has itself alone."""
    return {part.strip() for part in value.split(",")}


def settings_for(
    bootstrap_servers: str, client: Mapping[str, Any] | None = None, timeout_s: float = 30.0
) -> TopicSettings:
    """As many copies as this cluster's brokers allow, at most three. Raises TopicError.

    timeout_s: for Kafka to answer, and then to name a broker: one that begins, or has long stood
    still, names none for a moment.
    """
    refusal = LastRefusal()
    settings = {**RECONNECTS_AT_ONCE, **(client or {}), "error_cb": refusal}
    with admin_client(bootstrap_servers, settings) as admin:
        try:
            found = _await_brokers(admin, bootstrap_servers, timeout_s)
            settled = TopicSettings.for_brokers(len(found.brokers))
            return structs.replace(settled, cluster_id=found.cluster_id)
        except KafkaException as error:
            admin.poll(0)
            if refusal.text:
                raise TopicError(
                    f"Kafka at {bootstrap_servers} refuses this client: {refusal.text}; check the "
                    "user, the password and the certificates in the options of the Kafka client"
                ) from error
            raise TopicError(
                f"Kafka at {bootstrap_servers} does not answer: {describe(error)}; check that the "
                "brokers run and that the address is right",
                retriable=True,
            ) from error


def _await_brokers(admin: AdminClient, bootstrap_servers: str, timeout_s: float) -> ClusterMetadata:
    """Wait until Kafka names brokers; what it says then."""
    until_s = time.monotonic() + timeout_s
    while (found := _ask_brokers(admin, timeout_s)) is None:
        if time.monotonic() > until_s:
            raise TopicError(
                f"Kafka at {bootstrap_servers} says that no broker runs: wait until one does, "
                "and try again",
                retriable=True,
            )
        time.sleep(POLL_S)
    return found


def _ask_brokers(admin: AdminClient, timeout_s: float) -> ClusterMetadata | None:
    """Return what Kafka says of itself; None if it names no broker."""
    try:
        found = admin.list_topics(timeout=timeout_s)
        return found if found.brokers else None
    except KafkaException as error:
        if error_of(error).code() == KafkaError._PARTIAL:  # an answer without brokers and topics
            return None
        raise
