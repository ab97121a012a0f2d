"""`mqk qmgr list`: which queue managers have their ledger on a Kafka, and which of them run.

It reads the end of each ledger and writes nothing: an owner writes a heartbeat every few seconds,
and says in its last entry that it has stopped.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import click
from msgspec import Struct

from adapter.cli import cluster, output
from adapter.command import failures, options
from adapter.runtime.owner.announcement import read_announcement
from adapter.runtime.owner.liveness import SILENCES, has_stopped, is_gone
from adapter.runtime.owner.parts import HEARTBEAT_S
from adapter.storage.format import names
from adapter.storage.ledger.kafka import KafkaLedger
from adapter.storage.ledger.kafka_settings import LedgerSettings
from adapter.storage.ledger.port import LedgerError

LOOKS_AT_ONCE = 16
"""Ledgers that are looked at in threads of their own: each waits for answers nearly always."""


class Manager(Struct):
    """A queue manager. state: running, stopped, ended (without a clean stop), empty, unreadable."""

    queue_manager: str
    state: str
    last_entry_age_s: float | None
    owner: str


def found(servers: str, client: Mapping[str, str]) -> list[Manager]:
    """Look at every ledger of a Kafka; Failed if it does not answer."""
    with failures.expect(cluster.NotReachedError):
        topics = cluster.topics(servers, client)
    owned = [
        (name, LedgerSettings(bootstrap_servers=servers, topic=topic, client=dict(client)))
        for topic in topics
        if (name := names.parse_ledger_topic(topic)) is not None
    ]
    with ThreadPoolExecutor(LOOKS_AT_ONCE) as pool:
        return list(pool.map(lambda one: _look(*one), owned))


def _look(name: str, settings: LedgerSettings) -> Manager:
    ledger = KafkaLedger(settings)
    try:
        sign = ledger.last_record()
        if sign is None:
            return Manager(name, "empty", None, "")
        owner = read_announcement(ledger.announcement_of(sign.owner)).text
    except LedgerError as problem:
        return Manager(name, "unreadable", None, str(problem))
    age_s = max(0.0, time.time_ns() / 1_000_000 - sign.time_ms) / 1000
    if has_stopped(sign.payload):
        state = "stopped"
    elif is_gone(sign.owner) or age_s > SILENCES * HEARTBEAT_S:
        state = "ended"
    else:
        state = "running"
    return Manager(name, state, round(age_s, 1), owner)


@click.command("list")
@options.kafka_client
@options.json_output
def list_(kafka: options.KafkaClient, as_json: bool) -> None:
    """List the queue managers of a Kafka, and their states."""
    listed = found(kafka.servers, kafka.options)
    output.listing(listed, as_json, ("queue manager", "state", "last entry (s ago)", "owner"))
