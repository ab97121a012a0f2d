"""mqk user: the file of users is written and read."""

from pathlib import Path

import pytest

from adapter.server.access.credentials import Credentials
from tests.unit.cli.conftest import Mqk


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MQK_CREDENTIALS_FILE", str(tmp_path / "users"))
    return tmp_path / "users"


def test_users_are_added_listed_and_removed(mqk: Mqk, path: Path) -> None:
    assert mqk("user", "add", "ada", stdin=b"secret\n").status == 0
    assert mqk("user", "add", "bob", stdin=b"other\n").status == 0
    assert mqk("user", "list").out.split() == ["ada", "bob"]
    assert Credentials(path).is_right("ada", "secret")
    assert mqk("user", "add", "ada", stdin=b"new\n").status == 0
    assert Credentials(path).is_right("ada", "new")
    assert mqk("user", "remove", "bob").status == 0
    assert mqk("user", "list").out.split() == ["ada"]


@pytest.mark.parametrize(
    ("name", "password"), [("no name", "x"), ("ada", ""), ("ada", "x" * 257), ("", "x")]
)
def test_what_is_no_user_or_no_password(mqk: Mqk, path: Path, name: str, password: str) -> None:
    assert mqk("user", "add", name, stdin=password.encode() + b"\n").status == 2
    assert not path.exists()


def test_a_user_that_is_not_there_and_a_file_that_is_none(mqk: Mqk, path: Path) -> None:
    assert "user ada does not exist" in mqk("user", "remove", "ada").err
    path.touch(0o600)
    path.write_text("something else\n")
    said = mqk("user", "list")
    assert said.status == 1
    assert "NAME:HASH was expected" in said.err


def test_finding_users_14_a_password_is_asked_for_twice(
    mqk: Mqk, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter(["secret", "secert", "right", "right"])
    monkeypatch.setattr("click.termui.hidden_prompt_func", lambda _text: next(answers))
    monkeypatch.setattr("tests.unit.cli.conftest.Input.isatty", lambda _self: True)
    assert mqk("user", "add", "ada").status == 0
    assert Credentials(path).is_right("ada", "right")
    assert next(answers, None) is None
