"""mqk triggers: files are checked line by line, and run until a signal comes."""

import signal
from pathlib import Path

import adapter.testing
from tests.unit.cli.conftest import Mqk
from tests.unit.cli.test_trigger_monitor import signal_when

FILE = r"""
[[trigger]]
name = "PrivateTrigger"
queue = '.\private$\MyQueue'
serialized = true

[[trigger.rule]]
name = "MyRule1"
conditions = [{ label_contains = "marketing" }]
run = "sh"
parameters = ["-c", 'printf "%s\n" "$@" >> "$0"', "OUT", { property = "label" }]
"""


def test_a_good_file(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "triggers.toml"
    file.write_text(FILE)
    said = mqk("triggers", "check", file)
    assert (said.status, said.err) == (0, "")
    assert said.out == "PrivateTrigger: .\\private$\\MyQueue (peeking): MyRule1\n"


def test_finding_msmq_d12_a_program_that_is_not_there_is_named(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "triggers.toml"
    file.write_text(FILE.replace('run = "sh"', 'run = "no-such-program"'))
    said = mqk("triggers", "check", file)
    assert said.status == 0
    assert said.err == "mqk: rule MyRule1: program no-such-program is not on PATH here\n"


def test_what_is_wrong_with_a_file_is_named_with_its_line(mqk: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "triggers.toml"
    file.write_text(FILE.replace("label_contains", "label_has").replace("serialized", "serial"))
    for command in ("check", "run"):
        said = mqk("triggers", command, file)
        assert said.status == 1
        first, second = said.err.splitlines()
        assert first.startswith(f"mqk: {file}:5: unknown key or value 'serial'")
        assert second.startswith(f"mqk: {file}:9: unknown key or value 'label_has'")


def test_a_file_that_is_not_there(mqk: Mqk, tmp_path: Path) -> None:
    said = mqk("triggers", "check", tmp_path / "nowhere.toml")
    assert said.status == 1
    assert "nowhere.toml" in said.err
    assert "Traceback" not in said.err


def test_it_runs_until_sigterm(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    file, out = tmp_path / "triggers.toml", tmp_path / "out"
    file.write_text(FILE.replace("OUT", str(out)))
    with manager.connect_msmq() as host:
        queue = host.create(r".\private$\MyQueue")
        queue.send("x", label="for sales")
        queue.send("x", label="for marketing")
    thread = signal_when(out, "marketing\n", signal.SIGTERM)
    said = at("triggers", "run", file)
    thread.join()
    assert said.status == 0
    assert out.read_text() == "for marketing\n"
    lines = said.err.splitlines()
    assert lines[0] == f"mqk: running 1 trigger of {file} on QM1"
    assert lines[-1] == "mqk: the trigger service has ended"


def test_a_missing_queue(at: Mqk, tmp_path: Path) -> None:
    file = tmp_path / "triggers.toml"
    file.write_text(FILE)
    said = at("triggers", "run", file)
    assert said.status == 1
    assert "MyQueue does not exist: create it, or check its path [QUEUE_NOT_FOUND" in said.err
    assert "Traceback" not in said.err
