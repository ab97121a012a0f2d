"""mqk queue topics: which topics queues have, and which are left of queues that were deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import msgspec
from msgspec import Struct

from adapter.cli import cluster, output
from adapter.cli.connected import connect
from adapter.command import failures, options
from adapter.format import names
from adapter.topics.admin import TopicAdmin, TopicError
from adapter.topics.specs import TopicSettings


class QueueTopic(Struct, frozen=True):
    """A queue's topic. orphaned: the queue was deleted. parked: copies for it wait."""

    topic: str
    queue: str
    incarnation: int
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
    """
    if delete and not orphaned:
        raise click.UsageError("--delete goes with --orphaned")
    client = kafka.options
    with connect(qmgr, "mqk queue") as qm:
        servers = kafka.servers or qm.bootstrap_servers
        if not servers:
            raise failures.Failed(f"queue manager {qm.name} runs in memory: it has no topics")
        with failures.expect(cluster.NotReachedError):
            # Before the queues: a topic that is there now is of a queue that was defined before.
            there = cluster.topics(servers, client, names.queue_topic(qm.name, ""))
        living = {one.name: one.incarnation for one in qm.queues(system=True)}
        parked = qm.figures().get("movers_parked", {})
    found = examine(there, living, parked)
    if orphaned:
        found = [one for one in found if one.orphaned]
    if delete:
        settings = TopicSettings.for_brokers(1)
        with failures.expect(TopicError), TopicAdmin(servers, settings, client) as admin:
            admin.delete([one.topic for one in found])
    _show(found, parked, delete, as_json)


def examine(
    there: list[str], living: Mapping[str, int], parked: Mapping[str, Any]
) -> list[QueueTopic]:
    """Say of topics whose they are. living: the incarnation of each queue that there is."""
    found = []
    for topic in there:
        try:
            _, queue, incarnation = names.parse_queue_topic(topic)
        except ValueError:
            continue  # another program named it
        orphaned = living.get(queue) != incarnation
        found.append(QueueTopic(topic, queue, incarnation, orphaned, topic in parked))
    return found


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
                "deleted" if one.orphaned else "",
                "parked" if one.parked else "",
            )
            for one in found
        ]
        output.table(("topic", "queue", "incarnation", "queue was", "copies"), rows)
