"""mqk trigger-monitor: what a started program is told, and how the command ends."""

import os
import pwd
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

import adapter
import adapter.testing
from adapter.cli.trigger_monitor import environment
from adapter.command import failures
from adapter.mqi import TriggerMessage
from tests.unit.cli.conftest import Mqk, Said
from tests.unit.host.test_launch import await_text

WAIT_S = 20.0


def signal_when(path: Path, text: str, number: int) -> threading.Thread:
    """Send ourselves a signal when a file says something."""

    def send() -> None:
        await_text(path, text)
        os.kill(os.getpid(), number)

    thread = threading.Thread(target=send)
    thread.start()
    return thread


def run_one(
    at: Mqk, manager: adapter.testing.TestQueueManager, folder: Path, number: int
) -> tuple[Said, str]:
    """Let the command start one program, then send it a signal."""
    out = folder / "out"
    program = folder / "program.py"
    program.write_text(
        "import os, sys; from adapter.mqi import TriggerMessage as T; t = T.from_argv(sys.argv)\n"
        "print(t.queue, t.queue_manager, os.environ['MQK_QMGR'], flush=True)"
    )
    with manager.connect() as qm:
        qm.define_queue("INITQ")
        told: dict[str, Any] = {"appl_id": f"{sys.executable} {program}", "env_data": f">{out}"}
        qm.define_process("P", appl_type=6, **told)
        trigger = TriggerMessage(queue="Q", process="P", appl_type=6, **told)
        qm.put("INITQ", trigger.to_bytes(), format="MQTRIG", persistent=False)
    thread = signal_when(out, "\n", number)
    said = at("trigger-monitor", "-q", "INITQ")
    thread.join(WAIT_S)
    return said, out.read_text()


def test_it_starts_programs_until_sigterm(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    said, out = run_one(at, manager, tmp_path, signal.SIGTERM)
    assert said.status == 0
    assert out == f"Q QM1 {manager.address}\n"
    lines = said.err.splitlines()
    assert lines[0] == "mqk: taking trigger messages from INITQ of QM1"
    assert "started program" in lines[1]
    assert lines[-1] == "mqk: the trigger monitor has ended"


def test_ctrl_c_ends_it_with_the_status_that_shells_expect(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    said, _ = run_one(at, manager, tmp_path, signal.SIGINT)
    assert said.status == 130


def test_it_says_so_once_queues_are_triggered(
    at: Mqk, manager: adapter.testing.TestQueueManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that is put before the initiation queue is open may start nothing."""
    opened: list[int] = []

    def tell(text: str) -> None:
        if text.startswith("taking trigger messages"):
            opened.append(qm.queue("INITQ").status().open_input_count)
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(failures, "tell", tell)
    with manager.connect() as qm:
        qm.define_queue("INITQ")
        assert at("trigger-monitor", "-q", "INITQ").status == 0
        assert at("trigger-monitor", "-q", "NOT.THERE").status == 1
    assert opened == [1]


def test_a_queue_that_is_not_there_is_said_at_once(at: Mqk) -> None:
    before_s = time.monotonic()
    said = at("trigger-monitor", "-q", "NOT.THERE")
    assert said.status == 1
    assert "NOT.THERE" in said.err
    assert "MQRC_UNKNOWN_OBJECT_NAME" in said.err
    assert time.monotonic() - before_s < WAIT_S


def test_a_queue_manager_that_is_not_there_is_said(mqk: Mqk) -> None:
    said = mqk("trigger-monitor", "--qmgr", "127.0.0.1:1")
    assert said.status == 1
    assert "MQRC_Q_MGR_NOT_AVAILABLE" in said.err


def test_programs_learn_where_the_queue_manager_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("MQSERVER", raising=False)
    found = environment("h1:1500,h2")
    assert found["MQK_QMGR"] == "h1:1500,h2"
    assert found["MQSERVER"] == "SYSTEM.DEF.SVRCONN/TCP/h1(1500),h2(1414)"
    assert found["PATH"] == os.environ["PATH"]
    monkeypatch.setenv("MQSERVER", "MINE/TCP/elsewhere(1)")
    assert environment("h1:1500")["MQSERVER"] == "MINE/TCP/elsewhere(1)"


def test_with_directories_programs_of_others_are_dead_letters(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    folder, out = tmp_path / "programs", tmp_path / "out"
    folder.mkdir(mode=0o755)
    script = folder / "worker"
    script.write_text(f"#!/bin/sh\necho $MQK_QMGR >{out}\n")
    script.chmod(0o755)
    with manager.connect() as qm:
        qm.define_queue("INITQ")
        qm.define_queue("DEAD")
        qm.alter_queue_manager(dead_letter_queue="DEAD")
        for name, program in (("BAD", f"/bin/sh -c 'touch {out}'"), ("GOOD", "worker")):
            qm.define_process(name, appl_type=6, appl_id=program)
            trigger = TriggerMessage(queue="Q", process=name, appl_type=6, appl_id=program)
            qm.put("INITQ", trigger.to_bytes(), format="MQTRIG", persistent=False)
    account = pwd.getpwuid(os.geteuid()).pw_name
    thread = signal_when(out, "\n", signal.SIGTERM)
    said = at(
        *("trigger-monitor", "-q", "INITQ", "--allow-directory", folder, "--run-as", account),
    )
    thread.join(WAIT_S)
    assert said.status == 0
    assert out.read_text() == f"{manager.address}\n"
    assert "/bin/sh is not started: it is no program in" in said.err
    with manager.connect() as qm:
        assert qm.queue("DEAD").depth() == 1


def test_an_account_without_directories_is_refused(mqk: Mqk) -> None:
    for command in (["trigger-monitor"], ["triggers", "run", "x.toml"], ["broker", "activate"]):
        more = ["--allow", "p"] if "activate" in command else []
        said = mqk(*command, *more, "--run-as", "root")
        assert said.status == 2
        assert "--run-as needs --allow-directory" in said.err
