"""mqk registry: against a registry over HTTP, and without one."""

from __future__ import annotations

import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapter.cli import registry as command
from adapter.registry import topic
from adapter.registry.http import RegistryServer
from adapter.registry.topic import TopicRegistry
from tests.unit.cli.conftest import Mqk

SCHEMAS = Path(__file__).parents[3] / "schemas"


@pytest.fixture
def registry() -> TopicRegistry:
    return topic.in_memory()


@pytest.fixture
def served(registry: TopicRegistry, mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> Iterator[Mqk]:
    with RegistryServer(registry) as server:
        monkeypatch.setenv("MQK_REGISTRY", server.start(port=0))
        yield mqk


def write(path: Path, *names: str, default: bool = True) -> Path:
    more = {"default": 0} if default else {}
    fields = [{"name": name, "type": "int", **more} for name in names]
    path.write_text(json.dumps({"type": "record", "name": "R", "fields": fields}))
    return path


def test_registers_lists_and_shows(served: Mqk, tmp_path: Path) -> None:
    one, two = write(tmp_path / "1.avsc", "a"), write(tmp_path / "2.avsc", "a", "b")
    said = served("registry", "register", one, "--subject", "s")
    assert (said.status, said.out) == (0, "s version 1 has id 1\n"), said.err
    said = served("registry", "register", two, "--subject", "s", "--json")
    assert json.loads(said.out) == {"subject": "s", "version": 2, "id": 2}
    said = served("registry", "list", "--json")
    assert json.loads(said.out) == {
        "subject": "s", "versions": [1, 2], "id": 2, "level": "BACKWARD",
    }  # fmt: skip
    said = served("registry", "list")
    assert said.out.splitlines()[1].split() == ["s", "2", "2", "BACKWARD"]
    for name, path in (("s:1", one), ("s", two)):
        assert json.loads(served("registry", "show", name).out) == json.loads(path.read_text())
    assert json.loads(served("registry", "show", "1", "--id").out)["name"] == "R"
    assert json.loads(served("registry", "show", "s:1", "--json").out)["schema_id"] == 1


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        (("show", "none"), 1, "none"),
        (("show", "99", "--id"), 1, "99"),
        (("show", "x", "--id"), 2, "number"),
        (("show", "9" * 5000, "--id"), 2, "number"),
        (("show", "a:" + "9" * 5000), 1, "a:999"),
        (("diff", "no.avsc", "s"), 2, "no.avsc"),
    ],
)
def test_what_is_not_there_is_said(
    served: Mqk, arguments: tuple[str, ...], status: int, text: str
) -> None:
    said = served("registry", *arguments)
    assert (said.status, said.out) == (status, "")
    assert text in said.err


def test_a_registry_that_is_away_is_said(mqk: Mqk, monkeypatch: pytest.MonkeyPatch) -> None:
    said = mqk("registry", "list", "--registry", "http://127.0.0.1:1")
    assert said.status == 1
    assert "http://127.0.0.1:1 does not answer" in said.err


def test_check_asks_the_registry_and_changes_nothing(
    served: Mqk, registry: TopicRegistry, tmp_path: Path
) -> None:
    served("registry", "register", write(tmp_path / "1.avsc", "a"), "--subject", "s")
    good, bad = write(tmp_path / "2.avsc", "a", "b"), write(tmp_path / "3.avsc", "c", default=False)
    said = served("registry", "check", good, "--subject", "s")
    assert (said.status, said.out) == (0, f"{good}: ok\n")
    said = served("registry", "check", good, bad, "--subject", "s")
    assert said.status == 1
    assert f"{bad}: incompatible" in said.out
    said = served("registry", "check", bad, "--subject", "s", "--json")
    assert (said.status, json.loads(said.out)["compatible"]) == (1, False)
    assert registry.versions("s") == [1]


def test_check_wants_to_know_against_what(mqk: Mqk, tmp_path: Path) -> None:
    path = write(tmp_path / "1.avsc", "a")
    assert mqk("registry", "check", path).status == 2
    assert mqk("registry", "check", path, "--subject", "s", "--against", tmp_path).status == 2


def test_diff_shows_what_changed_and_who_reads_whom(served: Mqk, tmp_path: Path) -> None:
    one, two = write(tmp_path / "1.avsc", "a"), write(tmp_path / "2.avsc", "a", "b", default=False)
    served("registry", "register", one, "--subject", "s")
    said = served("registry", "diff", "s:1", two)
    assert said.status == 0, said.err
    assert '+      "name": "b",' in said.out
    assert said.out.splitlines()[-2:] == [
        f"{two} cannot read what s:1 wrote: reader field missing default value (b)",
        f"s:1 reads what {two} wrote",
    ]


def test_our_schemas_read_what_every_release_wrote(mqk: Mqk) -> None:
    ours = sorted(SCHEMAS.glob("*[a-z].avsc"))
    said = mqk("registry", "check", *ours, "--against", SCHEMAS / "released")
    assert said.status == 0, said.out
    assert len(said.out.splitlines()) == len(ours) == 6


def test_a_schema_that_cannot_read_what_a_release_wrote_fails(mqk: Mqk, tmp_path: Path) -> None:
    shutil.copytree(SCHEMAS / "released", tmp_path / "released")
    changed = json.loads((SCHEMAS / "event.avsc").read_text())
    changed["fields"].append({"name": "new", "type": "int"})
    path = tmp_path / "event.avsc"
    path.write_text(json.dumps(changed))
    said = mqk("registry", "check", path, "--against", tmp_path / "released")
    assert said.status == 1
    assert "reader field missing default value (new)" in said.out


def test_a_schema_that_was_never_released_has_nothing_to_read(mqk: Mqk, tmp_path: Path) -> None:
    said = mqk("registry", "check", write(tmp_path / "1.avsc", "a"), "--against", SCHEMAS)
    assert said.status == 0


def test_finding_users_16_the_queue_managers_own_registry_is_the_default(
    registry: TopicRegistry, mqk: Mqk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MQK_REGISTRY", raising=False)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        monkeypatch.setattr(command, "DEFAULT_HTTP_PORT", listening.getsockname()[1])
        assert command.default_url().endswith(f":{listening.getsockname()[1]}/registry")
    assert command.default_url() == command.DEFAULT_URL
