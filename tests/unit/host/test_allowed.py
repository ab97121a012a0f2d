"""Programs are found in the directories that are allowed, and run as the account that is named."""

import os
import pwd
from pathlib import Path

import pytest

from adapter.errors import InvalidOption
from adapter.host.allowed import AllowedPrograms, ProgramNotAllowed, words_of

WITHIN_S = 20.0
OURS = pwd.getpwuid(os.geteuid()).pw_name
IS_ROOT = os.geteuid() == 0


def program(path: Path, mode: int = 0o755) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\nid -u\n")
    path.chmod(mode)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "allowed"
    made.mkdir(mode=0o755)
    return made


def test_programs_in_and_below_a_directory_are_found(folder: Path, tmp_path: Path) -> None:
    one, below = program(folder / "one"), program(folder / "more" / "two")
    elsewhere = program(tmp_path / "elsewhere" / "three")
    (folder / "linked").symlink_to(elsewhere)
    allowed = AllowedPrograms([folder], OURS)
    assert allowed.find("one") == allowed.find(str(one)) == one
    assert allowed.find(str(below)) == below
    assert allowed.find(str(folder / "more" / ".." / "one")) == one
    assert allowed.find("linked") == folder / "linked"


def test_nothing_else_is_found(folder: Path, tmp_path: Path) -> None:
    program(folder / "one")
    program(folder / "not executable", 0o644)
    elsewhere = program(tmp_path / "elsewhere" / "two")
    beside = program(tmp_path / "allowed-too" / "three")
    (folder / "out").symlink_to(elsewhere.parent)
    allowed = AllowedPrograms([folder], OURS)
    for named in (
        *("", ".", "..", "none", "more/two", "./one", "sh", "not executable", "a\0b"),
        *("/bin/sh", str(elsewhere), str(beside), str(folder), f"{folder}/../elsewhere/two"),
        str(folder / "out" / "two"),
    ):
        with pytest.raises(ProgramNotAllowed, match="it is no program in"):
            allowed.find(named)


def test_a_directory_that_is_of_no_use_is_refused(folder: Path, tmp_path: Path) -> None:
    file = program(tmp_path / "file")
    for named, why in (
        ("relative", "not an absolute path"),
        (str(tmp_path / "none"), "No such file"),
        (str(file), "is not a directory"),
    ):
        with pytest.raises(InvalidOption, match=why):
            AllowedPrograms([named], OURS)
    folder.chmod(0o775)
    with pytest.raises(InvalidOption, match=r"others may write to .*chmod go-w"):
        AllowedPrograms([folder], OURS)
    with pytest.raises(InvalidOption, match="no directory is named"):
        AllowedPrograms([], OURS)
    with pytest.raises(InvalidOption, match="there is no account"):
        AllowedPrograms(["/usr/bin"], "no such account")


def test_root_names_the_account_and_others_have_their_own(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    with pytest.raises(InvalidOption, match="runs as root: name the account"):
        AllowedPrograms([folder])
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    AllowedPrograms([folder])
    with pytest.raises(InvalidOption, match="only a service that runs as root"):
        AllowedPrograms([folder], "root")


def test_a_program_runs_as_the_account_and_without_a_shell(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Another account than our own can be shown where tests run as root."""
    account = "nobody" if IS_ROOT else OURS
    allowed = AllowedPrograms(["/usr/bin"], account)
    environment = {"PATH": "/usr/bin:/bin"}
    for words in (["id", "-u"], ["printenv", "USER"], ["printf", "%s|", "$(id)", "a b", ";"]):
        child = allowed.start(words, environment)
        assert child.wait(WITHIN_S) == 0
        child.kill()
    said = capfd.readouterr().out
    assert said == f"{pwd.getpwnam(account).pw_uid}\n{account}\n$(id)|a b|;|"


def test_a_command_is_split_as_a_shell_does() -> None:
    words = ["a", "b c", 'd"e', "f g", "#", "h", "$i", "*"]
    assert words_of("""a "b c" 'd"e' f\\ g # h $i *""") == words
    assert words_of("") == []
    for command in ("a; b", "a && b", "a | b", "a > b", "a 2>&1", "(a)", "a & b"):
        with pytest.raises(ProgramNotAllowed, match="without a shell"):
            words_of(command)
