"""The class archive: made once, used if it could be made, and never a reason to fail."""

from pathlib import Path

import pytest

from adapter.localkafka import LocalKafkaError, jars, preparation
from adapter.localkafka.broker import Machine
from adapter.localkafka.jars import Java

JAVA = Java("/j/java", "17-abc")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of jars that needs no Maven, and a Java that is never started."""
    jars_folder = tmp_path / "jars"
    jars_folder.mkdir()
    monkeypatch.setattr(jars, "find_java", lambda: JAVA)
    monkeypatch.setattr(jars, "resolve_jars", lambda _say: jars_folder)
    return jars_folder


def test_an_archive_is_made_once_and_then_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[Machine] = []

    def run_once(machine: Machine, _data: Path, made: Path) -> None:
        runs.append(machine)
        made.write_bytes(b"classes")

    monkeypatch.setattr(preparation, "_run_once", run_once)
    said: list[str] = []
    first, second = (preparation.find_machine(said.append) for _ in range(2))
    assert first == second == Machine("/j/java", folder, folder / "classes-17-abc.jsa")
    assert runs == [Machine("/j/java", folder)]
    assert len(said) == 1
    assert [path.name for path in folder.parent.iterdir() if "archiving" in path.name] == []


@pytest.mark.parametrize("fails", [True, False])
def test_a_java_that_makes_none_is_used_without_and_not_asked_again(
    folder: Path, monkeypatch: pytest.MonkeyPatch, fails: bool
) -> None:
    runs: list[Machine] = []

    def run_once(machine: Machine, _data: Path, made: Path) -> None:
        runs.append(machine)
        if fails:
            raise LocalKafkaError("unrecognised option")

    monkeypatch.setattr(preparation, "_run_once", run_once)
    for _ in range(2):
        machine = preparation.find_machine(jars.say_nothing)
        assert machine == Machine("/j/java", folder, None)
    assert len(runs) == 1
