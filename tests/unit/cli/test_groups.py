"""mqk group: the file of groups is written and read."""

import shlex
from pathlib import Path

import pytest

from adapter.server.access import groups
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MQK_GROUPS_FILE", str(tmp_path / "groups"))
    return tmp_path / "groups"


def test_users_are_put_into_groups_listed_and_taken_out(mqk: Mqk, path: Path) -> None:
    assert mqk("group", "add", "staff", "ann", "bob", "ann").status == 0
    assert mqk("group", "add", "staff", "eve", "ann").status == 0
    assert mqk("group", "add", "tills", "bob").status == 0
    assert mqk("group", "list").out.splitlines() == ["staff: ann, bob, eve", "tills: bob"]
    assert groups.read(path) == {"staff": ["ann", "bob", "eve"], "tills": ["bob"]}
    assert mqk("group", "remove", "staff", "bob").status == 0
    assert mqk("group", "remove", "tills").status == 0
    assert mqk("group", "list").out.splitlines() == ["staff: ann, eve"]


def test_who_is_not_there_is_not_taken_out(mqk: Mqk, path: Path) -> None:
    assert "group staff does not exist" in mqk("group", "remove", "staff").err
    mqk("group", "add", "staff", "ann")
    assert "user bob is not in group staff" in mqk("group", "remove", "staff", "ann", "bob").err
    assert groups.read(path) == {"staff": ["ann"]}


@pytest.mark.parametrize(
    "given",
    [
        ("everyone", "ann"),
        ("a:b", "ann"),
        ("staff", "a" * 65),
        ("", "ann"),
        ("staff",),
        ("#ops", "ann"),
    ],
)
def test_what_is_no_group_or_user(mqk: Mqk, path: Path, given: tuple[str, ...]) -> None:
    assert mqk("group", "add", *given).status == 2
    assert not path.exists()


def test_the_commands_of_the_page(mqk: Mqk, path: Path) -> None:
    page = (Path(__file__).parents[3] / "docs/operations/security.md").read_text()
    lines = [line for line in page.splitlines() if line.startswith("mqk group ")]
    assert len(lines) == 3
    for line in lines:
        said = mqk(*shlex.split(line.replace("/etc/mqk/groups", str(path)))[1:])
        assert said.status == 0, said.err
    assert groups.read(path) == {"tills": ["CN=till 7,O=Shop"]}
