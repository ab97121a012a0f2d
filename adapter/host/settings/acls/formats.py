"""Rights in the forms that Kafka's tools take: commands of kafka-acls.sh, JSON, Strimzi's YAML."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator

from adapter.host.settings.acls.table import GROUP, TOPIC, TRANSACTIONAL_ID, AclEntry

TOOL = "kafka-acls.sh"
OPTIONS = {TOPIC: "--topic", TRANSACTIONAL_ID: "--transactional-id", GROUP: "--group"}
STRIMZI = {TOPIC: "topic", TRANSACTIONAL_ID: "transactionalId", GROUP: "group"}
WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")


def kafka_acls(
    entries: Iterable[AclEntry], principal: str, servers: str, command_config: str = ""
) -> Iterator[str]:
    """Return a command of kafka-acls.sh for each entry, quoted for a shell.

    command_config: a file of settings for the tool, if it needs one to reach Kafka.
    """
    config = ["--command-config", command_config] if command_config else []
    for entry in entries:
        operations = [word for one in entry.operations for word in ("--operation", one)]
        pattern = ["--resource-pattern-type", "prefixed" if entry.is_prefix else "literal"]
        command = [TOOL, "--bootstrap-server", servers, *config, "--add"]
        command += ["--allow-principal", principal, *operations]
        yield shlex.join([*command, OPTIONS[entry.resource], entry.name, *pattern])


def json_lines(entries: Iterable[AclEntry], principal: str) -> Iterator[str]:
    """Return an object for each right, in the names of Kafka's AdminClient."""
    for entry in entries:
        for one in entry.rights:
            yield json.dumps(
                {
                    "principal": principal,
                    "host": "*",
                    "permission_type": "ALLOW",
                    "operation": admin_name(one.operation),
                    "resource_type": admin_name(entry.resource),
                    "pattern_type": "PREFIXED" if entry.is_prefix else "LITERAL",
                    "resource_name": entry.name,
                    "purpose": one.purpose,
                }
            )


def admin_name(name: str) -> str:
    """Return the name of an operation or a resource's type as AdminClient has it."""
    return WORDS.sub("_", name).upper()


def strimzi(entries: Iterable[AclEntry], principal: str) -> Iterator[str]:
    """Return the lines of the part of a KafkaUser that holds its rights, as YAML."""
    yield f"# The rights of {principal}: a part of its KafkaUser."
    yield "spec:"
    yield "  authorization:"
    yield "    type: simple"
    yield "    acls:"
    for entry in entries:
        yield "      - resource:"
        yield f"          type: {STRIMZI[entry.resource]}"
        yield f"          name: {json.dumps(entry.name)}"
        yield f"          patternType: {'prefix' if entry.is_prefix else 'literal'}"
        yield "        operations:"
        yield from (f"          - {one}" for one in entry.operations)
