"""mqk dlq-handler: from a file of rules to what was done."""

import json
import os
import signal
import threading
from pathlib import Path

import pytest

import adapter
import adapter.testing
from tests.unit.cli.conftest import Mqk

WAIT_S = 20.0


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    path = tmp_path / "rules"
    path.write_text("* retry what is full\nREASON(MQRC_Q_FULL) ACTION(RETRY)\nACTION(IGNORE)\n")
    return path


def bury(qm: adapter.Connection, queue: str, reason: int = 2053) -> None:
    qm.put(queue, "body", dead_letter=adapter.DeadLetter(reason=reason, destination="Q"))


def test_it_does_what_the_rules_say_and_sums_up(
    at: Mqk, manager: adapter.testing.TestQueueManager, rules: Path
) -> None:
    with manager.connect() as qm:
        qm.alter_queue_manager(dead_letter_queue="SYSTEM.DEAD.LETTER.QUEUE")
        bury(qm, "SYSTEM.DEAD.LETTER.QUEUE")
        bury(qm, "SYSTEM.DEAD.LETTER.QUEUE", 2085)
        said = at("dlq-handler", rules)
        assert said.status == 0
        assert said.out == "retried: 1\nleft: 1\n"
        assert "dealing with queue SYSTEM.DEAD.LETTER.QUEUE of QM1" in said.err
        assert "put on Q by the rule of line 2" in said.err
        assert qm.get("Q") is not None


def test_the_queue_may_be_named_and_the_sum_be_json(
    at: Mqk, manager: adapter.testing.TestQueueManager, rules: Path
) -> None:
    with manager.connect() as qm:
        qm.define_queue("DEAD")
        bury(qm, "DEAD")
    said = at("dlq-handler", "-q", "DEAD", "--json", "-", stdin=rules.read_bytes())
    assert said.status == 0
    assert json.loads(said.out)["retried"] == 1
    assert at("dlq-handler", "-q", "DEAD", rules).out == "no message was processed\n"


def test_who_put_a_message_gives_no_orders_to_the_terminal(
    at: Mqk, manager: adapter.testing.TestQueueManager, rules: Path
) -> None:
    with manager.connect() as qm:
        header = adapter.DeadLetter(reason=2053, destination="Q\x1b]0;owned\x07")
        qm.put("SYSTEM.DEAD.LETTER.QUEUE", "body", dead_letter=header)
    said = at("dlq-handler", "-q", "SYSTEM.DEAD.LETTER.QUEUE", rules)
    assert "\x1b" not in said.err
    assert r"for Q\x1b]0;owned\x07)" in said.err


def test_wrong_rules_are_wrong_use_and_every_mistake_is_told(mqk: Mqk, tmp_path: Path) -> None:
    path = tmp_path / "rules"
    path.write_text("ACTION(STOP)\nREASN(1) ACTION(IGNORE)\n")
    said = mqk("dlq-handler", path)
    assert said.status == 2
    assert f"{path}, line 1, column 8: ACTION is DISCARD" in said.err
    assert f"{path}, line 2, column 1: unknown keyword REASN" in said.err
    path.write_bytes(b"\xff\xfe")
    assert mqk("dlq-handler", path).status == 2
    assert mqk("dlq-handler", tmp_path / "nowhere").status == 2


def test_rules_can_be_checked_without_a_queue_manager(mqk: Mqk, rules: Path) -> None:
    said = mqk("dlq-handler", "--check", rules)
    assert (said.status, said.out) == (0, f"{rules}: 2 rules\n")


def test_what_is_not_there_is_said(at: Mqk, mqk: Mqk, rules: Path) -> None:
    said = at("dlq-handler", rules)
    assert said.status == 1
    assert "has no dead-letter queue: name one" in said.err
    said = at("dlq-handler", "-q", "NOT.THERE", rules)
    assert said.status == 1
    assert "MQRC_UNKNOWN_OBJECT_NAME" in said.err
    assert mqk("dlq-handler", "--qmgr", "127.0.0.1:1", rules).status == 1


def test_sigterm_ends_what_waits_for_ever(
    at: Mqk, manager: adapter.testing.TestQueueManager, tmp_path: Path
) -> None:
    path = tmp_path / "rules"
    path.write_text("INPUTQ(DEAD) WAIT(YES)\nACTION(RETRY)\n")
    with manager.connect() as qm:
        qm.define_queue("DEAD")
        bury(qm, "DEAD")
        source = qm.queue("Q")

        def end_when_done() -> None:
            if source.get(timeout=WAIT_S) is not None:
                os.kill(os.getpid(), signal.SIGTERM)

        thread = threading.Thread(target=end_when_done)
        thread.start()
        said = at("dlq-handler", path)
        thread.join(WAIT_S)
    assert (said.status, said.out) == (0, "retried: 1\n")
