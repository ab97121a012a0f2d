"""mqk queue topics: which topics queues have, and which are left of queues that were deleted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click
import msgspec
from msgspec import Struct

from adapter.cli import cluster, output
from adapter.cli.connected import connect
from adapter.command import failures, options
from adapter.core.contract.incarnations import IncarnationState
from adapter.storage.format import names
from adapter.storage.topics.admin import TopicAdmin, TopicError, settings_for
from adapter.storage.topics.specs import TopicSettings


class QueueTopic(Struct, frozen=True):
    """A queue's topic. state: of the queue, as the queue manager says. parked: copies for it wait.

    orphaned: the queue was deleted.
    """

    topic: str
    queue: str
    incarnation: int
    state: IncarnationState
    orphaned: bool
    parked: bool


@click.command("topics")
@click.option("--orphaned", is_flag=True, help="Only those of queues that were deleted.")
@click.option("--delete", is_flag=True, help="With --orphaned: delete them, with all they hold.")
@options.confirmation("Delete the topics of all deleted queues?", if_given="delete")
@options.queue_manager
@options.kafka_client_if_wanted
@options.json_output
def topics(
    orphaned: bool, delete: bool, qmgr: str, kafka: options.KafkaClient, as_json: bool
) -> None:
    """List the topics of the queue manager's queues.

    The queue manager deletes the topic of a deleted queue by itself, once its messages have been
    readable for kafka.consumed_retention_ms. `--orphaned --delete` does it now, also for topics
    that are parked: the queue manager creates such a topic again, and writes the copies that wait.

    The queue manager says which queues were deleted, to users with the right to change it. A queue
    that it does not know is not deleted: its topic is listed as unknown, and is not orphaned.
    """
    if delete and not orphaned:
        raise click.UsageError("--delete goes with --orphaned")
    client = kafka.options
    with connect(qmgr, "mqk queue") as qm:
        servers = kafka.servers or qm.bootstrap_servers
        if not servers:
            raise failures.Failed(f"queue manager {qm.name} runs in memory: it has no topics")
        figures = qm.figures()
        with failures.expect(cluster.NotReachedError, TopicError):
            _check_its_kafka(qm.name, figures.get("kafka_cluster", ""), servers, client)
            there = cluster.topics(servers, client, names.queue_topic(qm.name, ""))
        queues = queues_of(there)
        states = qm.incarnations([queue for _, queue in queues])
    parked = figures.get("movers_parked", {})
    found = examine(queues, states, parked)
    if orphaned:
        found = [one for one in found if one.orphaned]
    if delete:
        settings = TopicSettings.for_brokers(1)
        with failures.expect(TopicError), TopicAdmin(servers, settings, client) as admin:
            admin.delete([one.topic for one in found])
    _show(found, parked, delete, as_json)


def _check_its_kafka(name: str, own: str, servers: str, client: Mapping[str, Any]) -> None:
    """Refuse a Kafka that is not the queue manager's own, whose cluster has this id."""
    if not own:
        raise failures.Failed(
            f"queue manager {name} does not say which Kafka it is on, and topics of another one "
            "could be deleted: an earlier release never says it; update the queue manager"
        )
    found = settings_for(servers, client).cluster_id
    if found != own:
        raise failures.Failed(
            f"Kafka at {servers} is not that of queue manager {name}: its id is {found}, and the "
            f"queue manager's is {own}; name the queue manager's own with --bootstrap-server"
        )


def queues_of(topics: list[str]) -> list[tuple[str, tuple[str, int]]]:
    """Return of each topic the name and the incarnation of the queue that it was made for."""
    found = []
    for topic in topics:
        try:
            _, queue, incarnation = names.parse_queue_topic(topic)
        except ValueError:
            continue  # another program named it
        found.append((topic, (queue, incarnation)))
    return found


def examine(
    topics: list[tuple[str, tuple[str, int]]],
    states: Sequence[IncarnationState],
    parked: Mapping[str, Any],
) -> list[QueueTopic]:
    """Say of topics whose they are. states: of the queues, in the order of the topics."""
    return [
        QueueTopic(topic, *queue, state, state == "deleted", topic in parked)
        for (topic, queue), state in zip(topics, states, strict=True)
    ]


def _show(found: list[QueueTopic], parked: Mapping[str, Any], deleted: bool, as_json: bool) -> None:
    if as_json:
        for one in found:
            output.emit({**msgspec.structs.asdict(one), "deleted": deleted})
    elif deleted:
        count = len(found)
        click.echo(f"{count} topic{'' if count == 1 else 's'} of deleted queues deleted")
        for one in found:
            if one.parked:
                click.echo(
                    f"{one.topic} was parked ({parked[one.topic]}): the queue manager creates it "
                    "again and writes the copies that wait, within about a minute"
                )
    else:
        rows = [
            (
                one.topic,
                one.queue,
                one.incarnation,
                "" if one.state == "there" else one.state,
                "parked" if one.parked else "",
            )
            for one in found
        ]
        output.table(("topic", "queue", "incarnation", "queue is", "copies"), rows)
