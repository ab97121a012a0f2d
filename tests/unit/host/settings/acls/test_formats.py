"""Rights as Kafka's tools take them."""

import json
import re
import shlex
import subprocess
from pathlib import Path

import pytest

from adapter.host.settings.acls.formats import admin_name, json_lines, kafka_acls, strimzi
from adapter.host.settings.acls.table import QUEUE_MANAGER, AclNeeds, entries

NEEDS = AclNeeds(queue_manager="QM1", schema_topic="_schemas", feed_topics=("orders",))
FOUND = entries(QUEUE_MANAGER, NEEDS)
ODD = ("User:CN=qm 1,O=Müller & Co", "User:a'b\"c", "User:$(x);`y`\\z", "User:-q", "User:*")


def test_a_command_for_each_entry() -> None:
    first, second, third, *_ = kafka_acls(FOUND, "User:qm1", "kafka-1:9093", "admin.properties")
    begin = "kafka-acls.sh --bootstrap-server kafka-1:9093 --command-config admin.properties --add "
    begin += "--allow-principal User:qm1 "
    assert first == begin + (
        "--operation Create --operation DescribeConfigs --operation Write --operation Read "
        "--operation Delete --operation Alter --topic mq.QM1. --resource-pattern-type prefixed"
    )
    assert second == begin + (
        "--operation Write --transactional-id mq.QM1. --resource-pattern-type prefixed"
    )
    assert third == begin + "--operation Describe --group mqk- --resource-pattern-type prefixed"
    literal = list(kafka_acls(FOUND, "User:qm1", "h:1"))[3]
    assert literal.endswith("--topic _schemas --resource-pattern-type literal")
    assert "--command-config" not in literal


@pytest.mark.parametrize("principal", ODD)
def test_a_shell_takes_odd_names_as_they_are(principal: str, tmp_path: Path) -> None:
    """By a program in place of the tool, which notes its arguments."""
    tool, noted = tmp_path / "kafka-acls.sh", tmp_path / "noted"
    tool.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {shlex.quote(str(noted))}\n')
    tool.chmod(0o755)
    (command,) = kafka_acls(FOUND[:1], principal, "h:1", "my admin's.properties")
    path = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    subprocess.run(["/bin/sh", "-c", command], env=path, check=True, timeout=20)
    given = noted.read_text().splitlines()
    assert given[given.index("--allow-principal") + 1] == principal
    assert given[given.index("--command-config") + 1] == "my admin's.properties"


def test_json_has_a_right_a_line() -> None:
    found = [json.loads(line) for line in json_lines(FOUND, "User:ü")]
    assert len(found) == sum(len(one.rights) for one in FOUND)
    assert found[1] == {
        "principal": "User:ü",
        "host": "*",
        "permission_type": "ALLOW",
        "operation": "DESCRIBE_CONFIGS",
        "resource_type": "TOPIC",
        "pattern_type": "PREFIXED",
        "resource_name": "mq.QM1.",
        "purpose": FOUND[0].rights[1].purpose,
    }
    assert admin_name("TransactionalId") == "TRANSACTIONAL_ID"


RULE = re.compile(
    r"      - resource:\n"
    r"          type: (?P<type>topic|group|transactionalId)\n"
    r"          name: (?P<name>\".*\")\n"
    r"          patternType: (?P<pattern>literal|prefix)\n"
    r"        operations:\n"
    r"(?P<operations>(?:          - [A-Za-z]+\n)+)"
)
"""A block of YAML, whose one free text is a JSON string: a quoted scalar of YAML as well."""


@pytest.mark.parametrize("group", ["readers", 'a "b": #c', "mqk-%/é\u2028"])
def test_strimzi_has_a_rule_for_each_entry(group: str) -> None:
    needs = AclNeeds(queue_manager="QM1", queues=("Q",), groups=(group,))
    found = [*FOUND, *entries("reader", needs)]
    text = "\n".join(strimzi(found, "User:qm1")) + "\n"
    head = "# The rights of User:qm1: a part of its KafkaUser.\nspec:\n  authorization:\n"
    head += "    type: simple\n    acls:\n"
    assert text.startswith(head)
    rules = list(RULE.finditer(text))
    assert head + "".join(one[0] for one in rules) == text
    for rule, entry in zip(rules, found, strict=True):
        assert json.loads(rule["name"]) == entry.name
        assert rule["pattern"] == ("prefix" if entry.is_prefix else "literal")
        assert tuple(re.findall(r"- (\w+)", rule["operations"])) == entry.operations
