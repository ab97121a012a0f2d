"""mqk acl list: the rights on Kafka that a role needs, in the forms that Kafka's tools take.

The rights are in adapter.host.settings.acls; this module finds out what the role works with. Kafka
is not asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import msgspec

import adapter
from adapter.cli import settings
from adapter.command.grouped import GroupedCommand, Groups
from adapter.core.attributes.export import EXPORT
from adapter.core.attributes.feed import FEED
from adapter.core.attributes.table import NAME_LENGTH_MAX
from adapter.core.contract.object_names import NAME
from adapter.host.settings.acls import formats, table
from adapter.host.settings.acls.table import AclEntry, AclNeeds
from adapter.host.settings.config import ConfigError
from adapter.host.settings.setting_rows import TOPIC_PATTERN
from adapter.server.services.own_schemas import ON_TOPIC

CONNECT_TIMEOUT_S = 5.0
DEFAULT_SERVERS = "localhost:9092"
PRINCIPAL = re.compile(r"[A-Za-z]+:[^\x00-\x1f\x7f]+")
GROUP = re.compile(r"[^\x00-\x1f\x7f]+")
TOPIC = re.compile(TOPIC_PATTERN)
GROUPS: Groups = {
    "Whose rights": ("principal", "role"),
    "The queue manager": ("name", "config_file", "qmgr", "peers", "feed_topics", "export_topics"),
    "Other clients": ("queues", "groups"),
    "Output": ("form", "servers", "command_config"),
}
OPTION_OF = {
    "queue_manager": "--name NAME (or the setting queue_manager)",
    "peers": "--peer NAME",
    "queues": "--queue QUEUE",
    "groups": "--group GROUP",
    "schema_topic": "the setting schema_registry = topic",
}


@click.group()
def acl() -> None:
    """Rights on Kafka: list those that a role needs."""


def _matching(pattern: re.Pattern[str], what: str) -> Callable[..., tuple[str, ...]]:
    """Make the callback of an option whose values must match a pattern."""

    def check(
        _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
    ) -> tuple[str, ...]:
        for value in values:
            if not pattern.fullmatch(value):
                raise click.BadParameter(f"{value!r} is not {what}")
        return values

    return check


def _check_principal(_context: click.Context, _option: click.Parameter, value: str) -> str:
    if not PRINCIPAL.fullmatch(value):
        raise click.BadParameter(f"{value!r} is not TYPE:NAME, such as User:qm1")
    return value


def _names(
    _context: click.Context, _option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...]:
    for value in values:
        _check_name(value)
    return values


def _check_name(name: str) -> None:
    if len(name) > NAME_LENGTH_MAX or not NAME.fullmatch(name):
        raise click.BadParameter(
            f"{name!r} is not a valid name: use 1 to {NAME_LENGTH_MAX} of A-Z a-z 0-9 . _ / %"
        )


TOPICS = _matching(TOPIC, "a topic of Kafka: use letters, digits, dots, _ and -")


@acl.command("list", cls=GroupedCommand, groups=GROUPS)
@click.option(
    "--principal", required=True, metavar="TYPE:NAME", callback=_check_principal,
    help="Whose rights, as Kafka knows the client, such as User:qm1.",
)  # fmt: skip
@click.option(
    "--role", type=click.Choice(tuple(table.ROLES)), default=table.QUEUE_MANAGER,
    show_default=True,
    help="What it is: "
    + "; ".join(f"{name}, {role.meaning}" for name, role in table.ROLES.items()) + ".",
)  # fmt: skip
@click.option(
    "--name", metavar="NAME", help="The queue manager's name.  [default: setting queue_manager]"
)
@click.option(
    "--config", "config_file", type=click.Path(dir_okay=False, path_type=Path), metavar="FILE",
    help="Settings, for the name, schema_registry, schema_topic and network.",
)  # fmt: skip
@click.option(
    "--qmgr", metavar="ADDRESS",
    help="A running queue manager: its name, the topics of its feeds and exports, and the queue "
    "managers that it sends to are added.",
)  # fmt: skip
@click.option(
    "--peer", "peers", multiple=True, metavar="NAME", callback=_names,
    help="A queue manager that it sends to; of network-peer, the one that sends. Repeatable.",
)  # fmt: skip
@click.option(
    "--feed-topic", "feed_topics", multiple=True, metavar="TOPIC", callback=TOPICS,
    help="A topic that a feed reads. Repeatable.",
)  # fmt: skip
@click.option(
    "--export-topic", "export_topics", multiple=True, metavar="TOPIC", callback=TOPICS,
    help="A topic that an export writes. Repeatable.",
)  # fmt: skip
@click.option(
    "--queue", "queues", multiple=True, metavar="QUEUE", callback=_names,
    help="Of reader: a queue whose topic is read. Repeatable.",
)  # fmt: skip
@click.option(
    "--group", "groups", multiple=True, metavar="GROUP",
    callback=_matching(GROUP, "a consumer group"), help="Of reader: its group. Repeatable.",
)  # fmt: skip
@click.option(
    "--format", "form", type=click.Choice(("kafka-acls", "json", "strimzi")),
    default="kafka-acls", show_default=True,
    help="Commands for a shell; JSON, one right a line; or a part of Strimzi's KafkaUser.",
)  # fmt: skip
@click.option(
    "--bootstrap-server", "servers", metavar="HOST:PORT[,...]",
    help="Of kafka-acls: where Kafka is.  [default: setting kafka.bootstrap_servers]",
)  # fmt: skip
@click.option(
    "--command-config", metavar="FILE",
    help="Of kafka-acls: the administrator's settings, as that tool takes them.",
)  # fmt: skip
def list_(
    principal: str,
    role: str,
    name: str | None,
    config_file: Path | None,
    qmgr: str | None,
    peers: tuple[str, ...],
    feed_topics: tuple[str, ...],
    export_topics: tuple[str, ...],
    queues: tuple[str, ...],
    groups: tuple[str, ...],
    form: str,
    servers: str | None,
    command_config: str | None,
) -> None:
    """List the rights on Kafka that a role needs, and no others.

    Nothing is granted. `mqk acl list ... | sh` grants what is printed.
    """
    if name is not None:
        _check_name(name)
    given = AclNeeds(
        queue_manager=name or "",
        peers=peers,
        feed_topics=feed_topics,
        export_topics=export_topics,
        queues=queues,
        groups=groups,
    )
    needs, known_servers = _with_settings(given, config_file)
    if qmgr is not None:
        needs = _with_running(needs, qmgr, name)
    found = _entries(role, needs)
    if form == "json":
        lines: Iterable[str] = formats.json_lines(found, principal)
    elif form == "strimzi":
        lines = formats.strimzi(found, principal)
    else:
        lines = formats.kafka_acls(found, principal, servers or known_servers, command_config or "")
    for line in lines:
        click.echo(line)


def _entries(role: str, needs: AclNeeds) -> list[AclEntry]:
    lacking = [OPTION_OF[one] for one in table.ROLES[role].needs if not getattr(needs, one)]
    if lacking:
        raise click.UsageError(f"role {role} needs {' and '.join(lacking)}")
    return table.entries(role, needs)


def _with_settings(needs: AclNeeds, config_file: Path | None) -> tuple[AclNeeds, str]:
    """Add what settings say; also where Kafka is."""
    given: dict[str, Any] = {
        "config_file": config_file,
        "command_config": None,
        "kafka_settings": {},
    }
    try:
        found = settings.load(needs.queue_manager or None, given)
    except ConfigError as problem:
        raise click.UsageError(str(problem)) from problem
    on_topic = found["schema_registry"] == ON_TOPIC
    needs = msgspec.structs.replace(
        needs,
        queue_manager=found["queue_manager"],
        schema_topic=found["schema_topic"] if on_topic else "",
        network=found["network"] == "yes",
    )
    servers = DEFAULT_SERVERS if found.is_default(settings.KAFKA) else found[settings.KAFKA]
    return needs, servers


def _with_running(needs: AclNeeds, address: str, name: str | None) -> AclNeeds:
    """Add what a running queue manager reads, writes and sends to."""
    with adapter.connect(
        address, connect_timeout_s=CONNECT_TIMEOUT_S, reconnect_timeout_s=0.0, application="mqk acl"
    ) as qm:
        if name is not None and name != qm.name:
            raise click.UsageError(f"--name {name} and --qmgr exclude each other: it is {qm.name}")
        feeds = [str(one.attributes["topic"]) for one in qm.objects(FEED)]
        exports = [str(one.attributes["topic"]) for one in qm.objects(EXPORT, system=True)]
        senders = (qm.figures().get("network") or {}).get("senders", {})
        return msgspec.structs.replace(
            needs,
            queue_manager=qm.name,
            feed_topics=_join(needs.feed_topics, feeds),
            export_topics=_join(needs.export_topics, exports),
            peers=_join(needs.peers, [one["destination"] for one in senders.values()]),
        )


def _join(given: tuple[str, ...], found: list[str]) -> tuple[str, ...]:
    """Return those that are given and those that were found, each once."""
    return tuple(dict.fromkeys((*given, *filter(None, sorted(found)))))
