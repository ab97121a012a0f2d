"""The dead-letter handler on a queue manager in memory: each message is dealt with once."""

import threading
import time
from typing import Any

import pytest

import adapter
import adapter.testing
from adapter.core.contract.details import Details
from adapter.errors import ConnectionClosed, InvalidValue, WrongQueueManager
from adapter.services.dead_letter_handler import DeadLetterHandler, lines_of
from adapter.services.dead_letter_header import NoDeadLetterQueue
from adapter.services.dead_letter_rules import parse
from tests.support.ways_back import WAYS, define_ways, way
from tests.unit.services.conftest import DEAD

WAIT_S = 20.0


class Time:
    """Passes as it is waited for; `when` is called at given moments."""

    def __init__(self) -> None:
        self.at_s = 1_000.0
        self.waits = 0
        self.when: dict[float, Any] = {}

    def now_s(self) -> float:
        return self.at_s

    def wait(self, seconds: float) -> bool:
        assert seconds > 0
        self.waits += 1
        assert self.waits < 10_000, "it waits for ever"
        self.at_s += seconds
        for at_s in [at_s for at_s in self.when if at_s <= self.at_s]:
            self.when.pop(at_s)()
        return False


@pytest.fixture
def clock() -> Time:
    return Time()


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def ready(qm: adapter.Connection) -> adapter.Connection:
    qm.define_queue("TO")
    qm.define_queue("OTHER")
    return qm


def handler(
    qm: adapter.Connection, rules: str, clock: Time, said: list[str], **how: str
) -> DeadLetterHandler:
    return DeadLetterHandler(
        qm,
        parse(rules),
        input_queue=how.get("input_queue", DEAD),
        report=said.append,
        now_s=clock.now_s,
        wait=clock.wait,
    )


def bury(qm: adapter.Connection, body: str = "body", **fields: Any) -> None:
    """Put a message on the dead-letter queue, as a queue manager does."""
    header = adapter.DeadLetter(
        reason=fields.pop("reason", 2053),
        destination=fields.pop("destination", "TO"),
        destination_queue_manager=fields.pop("manager", "QM1"),
    )
    qm.put(DEAD, body, dead_letter=header, format="MQSTR", **fields)


def bodies(qm: adapter.Connection, queue: str) -> list[str]:
    return [message.body.decode() for message in qm.queue(queue).browse()]


def got(qm: adapter.Connection, queue: str) -> adapter.Message:
    message = qm.get(queue)
    assert message is not None
    return message


def test_the_first_rule_that_fits_is_applied(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    bury(ready, "a", reason=2053)
    bury(ready, "b", reason=2051)
    bury(ready, "c", reason=2085)
    bury(ready, "d", reason=2030)
    tool = handler(
        ready,
        "REASON(MQRC_Q_FULL) ACTION(RETRY)\nREASON(2051) ACTION(FWD) FWDQ(OTHER)\n"
        "REASON(MQRC_UNKNOWN_OBJECT_NAME) ACTION(DISCARD)\nACTION(IGNORE)\n",
        clock,
        said,
    )
    tool.run()
    assert (bodies(ready, "TO"), bodies(ready, "OTHER"), bodies(ready, DEAD)) == (
        ["a"],
        ["b"],
        ["d"],
    )
    assert tool.statistics() == {
        "retried": 1, "forwarded": 1, "discarded": 1, "left": 1, "failed_attempts": 0,
        "without_header": 0,
    }  # fmt: skip
    assert list(lines_of(tool.statistics())) == [
        "discarded: 1", "retried: 1", "forwarded: 1", "left: 1"
    ]  # fmt: skip
    assert "put on TO by the rule of line 1" in said[0]
    assert "stays on DEAD: the rule of line 4 ignores it" in said[3]


def test_who_has_put_a_message_stays_with_it(
    manager: adapter.testing.TestQueueManager,
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
) -> None:
    """As with MQPMO_PASS_ALL_CONTEXT."""
    with manager.connect(application="batch job 7") as putter:
        details = Details(identity_data="order 7", appl_type=28, origin_data="BRKR")
        bury(putter, user="alice", details=details)
    handler(ready, "ACTION(RETRY)", clock, said).run()
    message = got(ready, "TO")
    assert (message.user, message.application) == ("alice", "batch job 7")
    assert message.details is not None
    assert message.details.identity_data == "order 7"
    assert (message.details.appl_type, message.details.origin_data) == (28, "BRKR")


def test_a_retried_message_is_as_it_was_put_first(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    fields: dict[str, Any] = {
        "priority": 7, "persistent": False, "message_id": b"m" * 24, "correlation_id": b"c" * 24,
        "group_id": b"g" * 24, "group_seq": 3, "reply_to": "R", "reply_to_queue_manager": "QM9",
        "message_type": 1, "report": 2, "encoding": 273, "ccsid": 819, "properties": {"a": 1},
    }  # fmt: skip
    bury(ready, **fields)
    handler(ready, "ACTION(RETRY)", clock, said).run()
    message = got(ready, "TO")
    assert {name: getattr(message, name) for name in fields} == fields
    assert (message.dead_letter, message.body, message.format) == (None, b"body", "MQSTR")


@pytest.mark.parametrize(
    ("header", "kept"), [("", True), ("HEADER(YES)", True), ("HEADER(NO)", False)]
)
def test_a_forwarded_message_keeps_its_header_unless_said(
    ready: adapter.Connection, clock: Time, said: list[str], header: str, kept: bool
) -> None:
    bury(ready)
    handler(ready, f"ACTION(FWD) FWDQ(OTHER) {header}", clock, said).run()
    message = got(ready, "OTHER")
    assert (message.dead_letter is not None) is kept
    assert (message.body, message.format) == (b"body", "MQSTR")


@pytest.mark.parametrize(
    ("rule", "queue"),
    [
        ("FWDQ(&REPLYQ) FWDQM(&REPLYQM)", "OTHER"),
        ("FWDQ(&DESTQ) FWDQM(&DESTQM)", "TO"),
        ("FWDQ(OTHER) FWDQM(QM1) PUTAUT(CTX)", "OTHER"),
        ("FWDQ(OTHER) FWDQM(' ')", "OTHER"),
    ],
)
def test_where_a_message_is_forwarded_to(
    ready: adapter.Connection, clock: Time, said: list[str], rule: str, queue: str
) -> None:
    bury(ready, reply_to="OTHER", reply_to_queue_manager="QM1")
    handler(ready, f"ACTION(FWD) {rule}", clock, said).run()
    assert bodies(ready, queue) == ["body"]


@pytest.mark.parametrize(
    ("rule", "said_", "fields"),
    [
        ("ACTION(FWD) FWDQ(&REPLYQ)", "it names no queue for &REPLYQ", {}),
        ("ACTION(FWD) FWDQ(OTHER) FWDQM(FAR)", "FAR", {}),
        ("ACTION(RETRY)", "FAR", {"manager": "FAR"}),
        ("ACTION(RETRY)", "it would be put on DEAD again", {"destination": DEAD}),
        ("ACTION(RETRY)", "queue NONE does not exist", {"destination": "NONE"}),
    ],
)
def test_what_cannot_be_forwarded_stays_and_no_backout_is_counted(
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    rule: str,
    said_: str,
    fields: dict[str, str],
) -> None:
    bury(ready, **fields)
    handler(ready, rule, clock, said).run()
    assert said_ in said[0]
    message = got(ready, DEAD)
    assert message.backout_count == 0


@pytest.mark.parametrize(
    ("rule", "queue", "fields"),
    [
        ("ACTION(FWD) FWDQ(OTHER) FWDQM(QM2)", "OTHER", {}),
        ("ACTION(FWD) FWDQ(DEAD) FWDQM(QM2)", DEAD, {}),
        (
            "ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM) HEADER(NO)",
            "BACK",
            {"reply_to": "BACK", "reply_to_queue_manager": "QM2"},
        ),
        ("ACTION(FWD) FWDQ(&DESTQ) FWDQM(&DESTQM)", "TO", {"manager": "QM2"}),
        ("ACTION(RETRY)", "TO", {"manager": "QM2"}),
    ],
)
def test_a_message_is_sent_to_another_queue_manager(
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    rule: str,
    queue: str,
    fields: dict[str, str],
) -> None:
    ready.define_queue("QM2", usage="XMITQ")
    bury(ready, **fields)
    handler(ready, rule, clock, said).run()
    assert said == [
        f"{said[0].partition(':')[0]}: put on {queue} of queue manager QM2 by the rule of line 1"
    ]
    (sent,) = ready.queue("QM2").browse()
    assert sent.body == b"body"
    assert bodies(ready, DEAD) == []


def test_attempts_are_repeated_at_the_interval_then_the_next_rule_is_tried(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    ready.alter_queue("TO", inhibit_put=True)
    bury(ready)
    begin_s = clock.at_s
    handler(
        ready,
        "RETRYINT(30)\nACTION(RETRY) RETRY(3)\nREASON(1) ACTION(DISCARD)\nACTION(FWD) FWDQ(OTHER)",
        clock,
        said,
    ).run()
    assert bodies(ready, "OTHER") == ["body"]
    assert [line.partition(": ")[2][:14] for line in said[:3]] == [
        "attempt 1 of 3", "attempt 2 of 3", "attempt 3 of 3"
    ]  # fmt: skip
    assert clock.at_s - begin_s == pytest.approx(60.0)


def test_each_rule_has_attempts_of_its_own(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    for name in ("TO", "OTHER"):
        ready.alter_queue(name, inhibit_put=True)
    bury(ready)
    begin_s = clock.at_s
    handler(ready, "ACTION(RETRY) RETRY(2)\nACTION(FWD) FWDQ(OTHER) RETRY(2)", clock, said).run()
    assert [line.partition(": ")[2][:29] for line in said[:-1]] == [
        "attempt 1 of 2 of the rule of", "attempt 2 of 2 of the rule of",
        "attempt 1 of 2 of the rule of", "attempt 2 of 2 of the rule of",
    ]  # fmt: skip
    assert "stays on DEAD" in said[-1]
    assert clock.at_s - begin_s == pytest.approx(120.0)


def test_an_attempt_that_succeeds_is_the_last(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    ready.alter_queue("TO", inhibit_put=True)
    bury(ready)
    clock.when[clock.at_s + 70] = lambda: ready.alter_queue("TO", inhibit_put=False)
    tool = handler(ready, "ACTION(RETRY) RETRY(5)", clock, said)
    tool.run()
    assert bodies(ready, "TO") == ["body"]
    assert tool.statistics()["failed_attempts"] == 2


def test_without_wait_it_ends_when_nothing_can_be_done(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    bury(ready)
    handler(ready, "ACTION(IGNORE)", clock, said).run()
    assert clock.waits == 0


def test_it_waits_for_more_as_long_as_it_is_told(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    begin_s = clock.at_s
    clock.when[begin_s + 50] = lambda: bury(ready)
    clock.when[begin_s + 150] = lambda: bury(ready, "too late")
    handler(ready, "WAIT(60)\nACTION(RETRY)", clock, said).run()
    assert bodies(ready, "TO") == ["body"]
    assert 110 <= clock.at_s - begin_s <= 112


def test_waiting_costs_no_look_at_every_message(
    ready: adapter.Connection, clock: Time, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that stays is looked at once, however long is waited."""
    for number in range(5):
        bury(ready, f"{number}")
    tool = handler(ready, "WAIT(600)\nACTION(IGNORE)", clock, said)
    looks: list[int] = []
    look = tool.run_once

    def counted() -> bool:
        looks.append(1)
        return look()

    monkeypatch.setattr(tool, "run_once", counted)
    tool.run()
    assert len(looks) == 1
    assert len(said) == 5
    assert clock.waits >= 1_000


def test_wait_yes_ends_when_it_is_stopped(ready: adapter.Connection, said: list[str]) -> None:
    tool = DeadLetterHandler(
        ready, parse("WAIT(YES)\nACTION(RETRY)"), input_queue=DEAD, report=said.append
    )
    thread = threading.Thread(target=tool.run)
    thread.start()
    bury(ready)
    message = ready.get("TO", timeout=WAIT_S)
    tool.stop()
    thread.join(WAIT_S)
    assert message is not None
    assert not thread.is_alive()


def test_what_has_no_header_is_told_once_and_stays(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    ready.put(DEAD, "bare")
    tool = handler(ready, "WAIT(60)\nACTION(DISCARD)", clock, said)
    clock.when[clock.at_s + 10] = lambda: bury(ready)
    tool.run()
    assert bodies(ready, DEAD) == ["bare"]
    assert tool.statistics()["without_header"] == 1
    assert tool.statistics()["discarded"] == 1
    assert sum("no dead-letter header" in line for line in said) == 1


@pytest.mark.parametrize(
    ("pattern", "fits"),
    [
        ("APPLNAME('batch*')", True),
        ("APPLNAME('online*')", False),
        ("DESTQ(T?)", True),
        ("DESTQM(QM2)", False),
        ("FORMAT(MQSTR)", True),
        ("REPLYQ(?*)", True),
        ("REPLYQM(QM9)", False),
        ("MSGTYPE(MQMT_REQUEST)", True),
        ("PERSIST(MQPER_PERSISTENT)", True),
        ("PERSIST(MQPER_NOT_PERSISTENT)", False),
        ("FEEDBACK(MQFB_TM_ERROR)", True),
        ("REASON(2053) MSGTYPE(8)", False),
        ("APPLIDAT('order 7') APPLTYPE(28)", True),
        ("APPLIDAT(order) ", False),
        ("APPLTYPE(6)", False),
        ("APPLIDAT(*) APPLTYPE(*) USERID(*)", True),
    ],
)
def test_a_pattern_is_about_the_message_and_its_header(
    manager: adapter.testing.TestQueueManager,
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    pattern: str,
    fits: bool,
) -> None:
    with manager.connect(application="batch job 7") as putter:
        details = Details(identity_data="order 7", appl_type=28)
        bury(putter, reply_to="R", message_type=1, feedback=266, details=details)
    handler(ready, f"{pattern} ACTION(DISCARD)", clock, said).run()
    assert bodies(ready, DEAD) == ([] if fits else ["body"])


def test_what_is_left_of_its_time_to_live_goes_with_it(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    bury(ready, expiry_s=100.0)
    before_s = time.time()
    handler(ready, "ACTION(RETRY)", clock, said).run()
    message = got(ready, "TO")
    assert message.expires_at_ms / 1000 == pytest.approx(before_s + 100.0, abs=WAIT_S / 2)
    assert message.expiry_s is not None
    assert message.expiry_s <= 100.0


@pytest.mark.parametrize("ahead_s", [-3600, 3600])
def test_the_clock_of_the_handlers_machine_makes_no_difference(
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
    ahead_s: int,
) -> None:
    bury(ready, expiry_s=1800.0)
    (buried,) = ready.queue(DEAD).browse()
    now_s = time.time()
    monkeypatch.setattr("adapter.services.dead_letter_handler.time.time", lambda: now_s + ahead_s)
    handler(ready, "ACTION(RETRY)", clock, said).run()
    monkeypatch.undo()
    assert got(ready, "TO").expires_at == buried.expires_at


def test_a_message_that_somebody_else_takes_is_not_put_anywhere(
    ready: adapter.Connection, clock: Time, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The unit has put it already: it is backed out."""
    bury(ready)
    tool = handler(ready, "ACTION(RETRY)", clock, said)
    put = ready.put

    def taken_meanwhile(*given: Any, **how: Any) -> adapter.PutResult:
        done = put(*given, **how)
        assert ready.get(DEAD, unit=adapter.NO_UNIT) is not None
        return done

    monkeypatch.setattr(ready, "put", taken_meanwhile)
    tool.run()
    assert bodies(ready, "TO") == []
    assert tool.statistics()["retried"] == 0


def test_every_lost_reply_leaves_each_message_in_one_place(
    manager: adapter.testing.TestQueueManager,
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = [f"{number}" for number in range(12)]
    for name in names:
        bury(ready, name)
    tool = handler(ready, "ACTION(RETRY)", clock, said)
    put, take = ready.put, adapter.Queue.take
    calls: list[str] = []

    def lose_in_turn(verb: str) -> None:
        """Of four attempts, lose the answer to the put, the get and the commit of one each."""
        if ("put", "get", "commit", "")[calls.count("put") % 4] == verb:
            manager.drop_next_reply()

    def put_and_lose(*given: Any, **how: Any) -> adapter.PutResult:
        calls.append("put")
        lose_in_turn("put")
        done = put(*given, **how)
        lose_in_turn("get")
        return done

    def take_and_lose(*given: Any, **how: Any) -> bool:
        done = take(*given, **how)
        lose_in_turn("commit")
        return done

    monkeypatch.setattr(ready, "put", put_and_lose)
    monkeypatch.setattr(adapter.Queue, "take", take_and_lose)
    tool.run()
    assert len(calls) > len(names)
    assert sorted(bodies(ready, "TO"), key=int) == names
    assert bodies(ready, DEAD) == []


def test_a_restart_of_the_queue_manager_is_waited_out(
    manager: adapter.testing.TestQueueManager,
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
) -> None:
    def die_and_start() -> None:
        manager.crash()
        manager.start()

    begin_s = clock.at_s
    clock.when[begin_s + 10] = manager.restart
    clock.when[begin_s + 20] = die_and_start
    clock.when[begin_s + 30] = lambda: bury(ready)
    handler(ready, "WAIT(60)\nACTION(RETRY)", clock, said).run()
    assert bodies(ready, "TO") == ["body"]


@pytest.fixture
def own(ready: adapter.Connection) -> adapter.Connection:
    ready.define_queue("OWN.DEAD")
    ready.alter_queue_manager(dead_letter_queue="OWN.DEAD")
    return ready


@pytest.mark.parametrize(
    ("given", "control", "queue"),
    [
        ("", "", "OWN.DEAD"),
        ("", "INPUTQ(' ') INPUTQM(' ')", "OWN.DEAD"),
        ("", "INPUTQ(TO) INPUTQM(QM1)", "TO"),
        ("OTHER", "INPUTQ(TO)", "OTHER"),
    ],
)
def test_which_queue_is_worked_on(
    own: adapter.Connection, clock: Time, said: list[str], given: str, control: str, queue: str
) -> None:
    tool = handler(own, f"{control}\nACTION(IGNORE)", clock, said, input_queue=given)
    assert tool.queue == queue


def test_what_makes_no_sense_is_refused_at_once(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    with pytest.raises(NoDeadLetterQueue):
        handler(ready, "ACTION(IGNORE)", clock, said, input_queue="")
    with pytest.raises(WrongQueueManager, match="for queue manager QM2, and this is QM1"):
        handler(ready, "INPUTQM(QM2)\nACTION(IGNORE)", clock, said)
    with pytest.raises(InvalidValue, match="line 1 forwards from queue DEAD to DEAD"):
        handler(ready, "ACTION(FWD) FWDQ(DEAD)", clock, said)
    tool = handler(ready, "ACTION(IGNORE)", clock, said)
    ready.close()
    with pytest.raises(ConnectionClosed):
        tool.run()


def test_an_alias_of_the_dead_letter_queue_is_no_way_out(
    ready: adapter.Connection, clock: Time, said: list[str]
) -> None:
    ready.define_object("alias", "ALIAS", target=DEAD)
    ready.define_object("alias", "OTHER.ALIAS", target="OTHER")
    bury(ready, "one", destination="ALIAS")
    bury(ready, "two", destination="OTHER.ALIAS")
    work = handler(ready, "ACTION(RETRY)", clock, said)
    thread = threading.Thread(target=work.run)
    thread.start()
    thread.join(WAIT_S)
    work.stop()
    thread.join(WAIT_S)
    assert (bodies(ready, DEAD), bodies(ready, "OTHER")) == (["one"], ["two"])
    assert work.statistics()["failed_attempts"] == 1
    assert f"it would be put on {DEAD} again" in "\n".join(said)


@pytest.mark.parametrize("action", ["RETRY", "FWD"])
@pytest.mark.parametrize("label", WAYS)
def test_no_name_leads_round_in_a_circle(
    ready: adapter.Connection,
    clock: Time,
    said: list[str],
    label: str,
    action: str,
) -> None:
    define_ways(ready, DEAD)
    target, manager, is_circle = way(label, DEAD, "QM1")
    rule = "ACTION(RETRY)"
    if action == "FWD":
        bury(ready, "one", reply_to=target, reply_to_queue_manager=manager)
        rule = "ACTION(FWD) FWDQ(&REPLYQ) FWDQM(&REPLYQM)"
    else:
        bury(ready, "one", destination=target, manager=manager)
    work = handler(ready, rule, clock, said)
    for _ in range(5):  # a message that came round would be put again in each
        work.run_once()
    assert ready.queue(DEAD).depth() == is_circle
    assert work.statistics()["failed_attempts"] == is_circle
    if is_circle:
        letter = got(ready, DEAD)
        assert letter.dead_letter is not None
        assert (letter.dead_letter.destination, letter.backout_count) == (
            target if action == "RETRY" else "TO",
            0,
        )
