"""The command's front: whatever happens ends in a status and at most a sentence."""

import os
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import click
import pytest

from adapter.cli.lazy import LazyGroup
from adapter.cli.main import COMMANDS, mqk, run
from adapter.cli.main import mqk as mqk_command
from adapter.command.grouped import GroupedCommand
from adapter.errors import QueueFull
from adapter.localkafka import free_port
from tests.unit.cli.conftest import Mqk

MANY_OPTIONS = 13
IN_NO_GROUP = {"config_file", "qmgr", "as_json"}
"""With --help: under Options."""


def all_commands() -> list[list[str]]:
    """Every command and subcommand."""
    found: list[list[str]] = [[], *([name] for name in COMMANDS)]
    context = click.Context(mqk)
    for name in COMMANDS:
        command = mqk.get_command(context, name)
        if isinstance(command, click.Group):
            found += [[name, sub] for sub in command.list_commands(context)]
    return found


@pytest.mark.parametrize("path", all_commands(), ids=" ".join)
def test_every_command_explains_itself(path: list[str], mqk: Mqk) -> None:
    said = mqk(*path, "--help")
    assert said.status == 0
    assert said.out.startswith("Usage: mqk")
    assert said.err == ""
    body = said.out.split("\n", 2)[2].strip()
    assert len(body.splitlines()[0]) > 10, "it says what it does"


def command_of(path: list[str]) -> click.Command:
    command: click.Command = mqk_command
    for word in path:
        assert isinstance(command, click.Group)
        found = command.get_command(click.Context(command), word)
        assert found is not None
        command = found
    return command


def test_finding_users_3_many_options_are_grouped_by_subject() -> None:
    known: dict[int, set[str]] = {}
    named: dict[int, set[str]] = {}
    for path in all_commands():
        command = command_of(path)
        shown = {str(one.name) for one in command.params if isinstance(one, click.Option)}
        if not isinstance(command, GroupedCommand):
            assert len(shown) < MANY_OPTIONS, path
            continue
        names = [name for some in command.groups.values() for name in some]
        assert len(names) == len(set(names)), path
        assert max(map(len, command.groups.values())) < MANY_OPTIONS, path
        assert shown - set(names) <= IN_NO_GROUP, path
        known.setdefault(id(command.groups), set()).update(shown)
        named[id(command.groups)] = set(names)
    for groups, names_of in named.items():
        assert names_of <= known[groups], "no command has them"


def test_finding_users_3_the_help_of_a_start_has_headings(mqk: Mqk) -> None:
    said = mqk("qmgr", "start", "--help").out
    headings = [line for line in said.splitlines() if line.endswith(":") and line[0] != " "]
    assert headings[:3] == ["Addresses and users:", "Kafka:", "Limits:"]
    assert headings[-1] == "Options:"
    assert "--help" in said.partition("\nOptions:")[2]


def test_the_list_of_commands_fits_a_terminal_of_80_columns(mqk: Mqk) -> None:
    for path in ([], ["spark"], ["queue"], ["kafka"], ["qmgr"]):
        assert "..." not in mqk(*path, "--help").out.partition("Commands:")[2], path


def test_version(mqk: Mqk) -> None:
    said = mqk("--version")
    assert (said.status, said.out) == (0, f"mqk {metadata.version('mqk')}\n")


def test_no_arguments_show_the_help(mqk: Mqk) -> None:
    said = mqk()
    assert said.status == 0
    assert said.out == mqk("--help").out


@pytest.mark.parametrize("arguments", [["nonsense"], ["--nonsense"], ["kafka", "nonsense"]])
def test_wrong_use_is_status_two_and_a_sentence(arguments: list[str], mqk: Mqk) -> None:
    said = mqk(*arguments)
    assert said.status == 2
    assert "nonsense" in said.err
    assert "Traceback" not in said.err


class Broken:
    """A command that ends in some way."""

    def __init__(self, how: BaseException) -> None:
        self.how = how

    def command(self) -> click.Command:
        def fail() -> None:
            raise self.how

        return click.Command("demo", callback=fail)


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> "type[Broken]":
    def install(how: BaseException) -> None:
        command = Broken(how).command()
        monkeypatch.setattr(LazyGroup, "get_command", lambda *_: command)

    return install  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (["que"], "Did you mean 'queue'?"),
        (["start", "QM1"], "Did you mean `mqk kafka start` or `mqk qmgr start`?"),
        (["queue", "shwo"], "Did you mean 'show'?"),
        (["spark", "archiv"], "Did you mean 'archive'?"),
    ],
)
def test_a_mistyped_command_is_guessed(arguments: list[str], meant: str, mqk: Mqk) -> None:
    said = mqk(*arguments)
    assert said.status == 2
    assert meant in said.err


def test_a_file_that_cannot_be_used_is_no_bug(mqk: Mqk, tmp_path: Path) -> None:
    nowhere = tmp_path / "nowhere" / "users.txt"
    said = mqk("user", "add", "bob", "--file", nowhere, stdin=b"secret")
    assert said.status == 1
    assert str(nowhere.parent) in said.err
    assert "No such file or directory" in said.err
    assert "internal error" not in said.err
    file = tmp_path / "file"
    file.touch()
    said = mqk("kafka", "start", "--port", free_port(), "--data-dir", file / "below")
    assert said.status == 1
    assert str(file) in said.err
    assert "internal error" not in said.err


def test_a_full_disk_is_no_bug(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    with Path("/dev/full").open("w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        assert run(["config", "reference"]) == 1
    said = capfd.readouterr().err
    assert said == (
        "mqk: cannot write the output: No space left on device; free some space, and see what is "
        "done before you try again\n"
    )


def test_no_output_is_no_bug(monkeypatch: pytest.MonkeyPatch, capfd: Any) -> None:
    """As a shell starts it with `>&-`."""
    monkeypatch.setattr(sys, "stdout", None)
    assert run(["config", "reference"]) == 0
    assert capfd.readouterr() == ("", "")


def test_a_bug_is_one_sentence_that_says_where_to_report(mqk: Mqk, broken: type[Broken]) -> None:
    broken(ZeroDivisionError("division\nby zero"))
    said = mqk("demo")
    assert said.status == 1
    assert said.err.count("\n") == 1
    assert "ZeroDivisionError: division by zero" in said.err
    assert "internal error" in said.err
    assert "report it" in said.err
    assert "Traceback" not in said.err


def test_mqk_debug_shows_the_traceback(
    mqk: Mqk, broken: type[Broken], monkeypatch: pytest.MonkeyPatch
) -> None:
    broken(ZeroDivisionError("by zero"))
    monkeypatch.setenv("MQK_DEBUG", "1")
    assert "Traceback" in mqk("demo").err
    broken(QueueFull("queue Q is full", "Q"))
    assert "Traceback" in mqk("demo").err


def test_our_errors_name_the_reason(mqk: Mqk, broken: type[Broken]) -> None:
    broken(QueueFull("queue Q is full: get messages from it", "Q"))
    said = mqk("demo")
    assert said.status == 1
    assert said.err == "mqk: queue Q is full: get messages from it [MQRC_Q_FULL]\n"


def test_an_interruption_is_status_130_and_silent(mqk: Mqk, broken: type[Broken]) -> None:
    broken(KeyboardInterrupt())
    said = mqk("demo")
    assert said.status == 130
    assert said.err.strip() == ""


def test_a_reader_that_went_away_is_status_one_and_silent(
    broken: type[Broken], monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        broken(BrokenPipeError(32, "Broken pipe"))
        assert run(["demo"]) == 1


def test_a_command_may_say_its_own_status(mqk: Mqk, broken: type[Broken]) -> None:
    broken(SystemExit(3))
    assert mqk("demo").status == 3
    broken(SystemExit("words"))
    assert mqk("demo").status == 1


@pytest.mark.parametrize("option", ["--tls-key", "--tls-key-password-file"])
def test_the_key_of_a_client_goes_with_its_certificate(
    mqk: Mqk, option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("MQK_TLS_CERT", "MQK_TLS_KEY", "MQK_TLS_KEY_PASSWORD_FILE"):
        monkeypatch.setenv(name, "")  # so that what the command sets is taken back
    said = mqk(option, "ann.key", "config", "check", "--json")
    assert (said.status, "give --tls-cert too" in said.err) == (2, True)
    said = mqk("--tls-cert", "ann.pem", option, "ann.key", "config", "check", "--json")
    assert said.status == 0
    assert "ann.key" not in said.out
