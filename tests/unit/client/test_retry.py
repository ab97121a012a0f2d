"""queue.units(retry=): what failed is tried later, and stands before nothing meanwhile."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import adapter
from adapter import errors as e
from adapter import testing
from adapter.client.retry import GotFrom, Retries
from adapter.client.unit_steps import Exchange
from adapter.client.work import Work
from adapter.connection.channel.unit import AnyUnit
from tests.drivers import Driver
from tests.support.few_rights import as_ann
from tests.support.unprintable import Unprintable

SOON = adapter.Retry(2, backoff=0.02, jitter=0)
LATER = adapter.Retry(2, backoff=60)


@pytest.fixture
def manager(driver: Driver) -> Iterator[testing.TestQueueManager]:
    with testing.queue_manager() as running:
        yield driver.of(running)


@pytest.fixture
def qm(manager: testing.TestQueueManager) -> Iterator[adapter.Connection]:
    with manager.connect() as connection:
        for name in ("Q", "OUT", "FAILED"):
            connection.define_queue(name)
        yield connection


@pytest.fixture(autouse=True)
def _quiet(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "adapter.client")


Act = Callable[[adapter.Message], object]


def work(queue: adapter.Queue, retry: adapter.Retry, act: Act, **options: Any) -> list[bytes]:
    """Run the loop until nothing comes; return what it was shown."""
    shown: list[bytes] = []
    for unit in queue.units(**{"timeout": 0, **options}, retry=retry):
        with unit:
            for message in unit.messages:
                shown.append(message.body)
                act(message)
    return shown


def refuse(*bodies: bytes) -> Act:
    """A handler that fails with these."""

    def act(message: adapter.Message) -> None:
        if message.body in bodies:
            raise ValueError(f"cannot do {message.body!r}")

    return act


def put_and_refuse(qm: adapter.Connection, *bodies: bytes) -> Act:
    """A handler that has put something before it fails."""

    def act(message: adapter.Message) -> None:
        qm.put("OUT", message.body)
        refuse(*bodies)(message)

    return act


def bodies(qm: adapter.Connection, name: str) -> list[bytes]:
    return [message.body for message in qm.queue(name).browse()]


@pytest.mark.parametrize("prefetch", [0, 4])
@pytest.mark.parametrize("puts", [False, True])
def test_a_message_that_fails_stands_before_no_other(
    qm: adapter.Connection, puts: bool, prefetch: int
) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"1", b"poison", b"2", b"3"])
    act = put_and_refuse(qm, b"poison") if puts else refuse(b"poison")
    assert work(queue, LATER, act, prefetch=prefetch) == [b"1", b"poison", b"2", b"3"]
    assert (queue.depth(), queue.status().delayed) == (0, 1)
    assert bodies(qm, "OUT") == ([b"1", b"2", b"3"] if puts else [])


@pytest.mark.parametrize("puts", [False, True])
def test_when_all_attempts_have_failed_it_goes_to_then_with_the_reason(
    qm: adapter.Connection, puts: bool
) -> None:
    queue = qm.queue("Q")
    sent = queue.put(b"poison", priority=3, correlation_id=b"c" * 24, user="anna", application="x")
    act = put_and_refuse(qm, b"poison") if puts else refuse(b"poison")
    retry = adapter.Retry(2, 0.02, 0, then="FAILED")
    assert work(queue, retry, act, timeout=0.5) == [b"poison"] * 3
    (failed,) = qm.queue("FAILED").browse()
    assert failed.message_id == sent.message_id
    assert (failed.priority, failed.correlation_id) == (3, b"c" * 24)
    assert (failed.user, failed.application) == ("anna", "x")
    assert failed.properties == {
        "mqk.attempts": 3,
        "mqk.error": "ValueError: cannot do b'poison'",
        "mqk.backout_reason": "retries_used_up",
        "mqk.backout_queue": "Q",
    }
    assert (queue.depth(), queue.status().delayed, qm.queue("OUT").depth()) == (0, 0, 0)


@pytest.mark.parametrize("puts", [False, True])
def test_an_exception_without_a_text_is_a_failure_like_any_other(
    qm: adapter.Connection, puts: bool
) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"poison", b"next"])

    def act(message: adapter.Message) -> None:
        if puts:
            qm.put("OUT", message)
        if message.body == b"poison":
            raise Unprintable

    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    assert work(queue, retry, act, timeout=0.5) == [b"poison", b"next", b"poison"]
    (failed,) = qm.queue("FAILED").browse()
    assert failed.properties["mqk.error"] == "Unprintable, whose text cannot be made"


def test_the_delays_grow(qm: adapter.Connection, caplog: pytest.LogCaptureFixture) -> None:
    queue = qm.queue("Q")
    queue.put(b"poison")
    shown_s = []

    def act(_message: adapter.Message) -> None:
        shown_s.append(time.monotonic())
        raise ValueError

    work(queue, adapter.Retry(3, 0.1, 0, then="FAILED"), act, timeout=1)
    gaps = [after - before for before, after in pairwise(shown_s)]
    assert [gap >= least for gap, least in zip(gaps, (0.1, 0.2, 0.4), strict=True)] == [True] * 3
    assert "failed, attempt 2 of 4: it is tried again in 0.2 s" in caplog.text
    assert "Traceback" in caplog.text


@pytest.mark.parametrize("prefetch", [0, 4])
@pytest.mark.parametrize("puts", [False, True])
def test_the_traceback_of_a_failure_is_logged_once(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture, puts: bool, prefetch: int
) -> None:
    """Each attempt's, whether its message is put again in its unit, or after the backout."""
    qm.put("Q", b"poison")
    act = put_and_refuse(qm, b"poison") if puts else refuse(b"poison")
    retry = adapter.Retry(2, 0.02, 0, then="FAILED")
    work(qm.queue("Q"), retry, act, timeout=0.5, prefetch=prefetch)
    told = [one for one in caplog.records if "failed, attempt" in one.getMessage()]
    assert len(told) == 3
    assert caplog.text.count("Traceback") == 3
    assert caplog.text.count("ValueError: cannot do b'poison'") == 3
    assert caplog.text.count("was backed out") == (3 if puts else 0)


@pytest.mark.parametrize("puts", [False, True])
def test_it_is_logged_once_where_nothing_takes_what_has_failed(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture, puts: bool
) -> None:
    qm.alter_queue_manager(dead_letter_queue="")
    qm.put("Q", b"poison")
    act = put_and_refuse(qm, b"poison") if puts else refuse(b"poison")
    assert work(qm.queue("Q"), adapter.Retry(0, 0, 0), act) == [b"poison"]
    assert "neither a backout_requeue_queue nor the dead-letter queue takes it" in caplog.text
    assert caplog.text.count("Traceback") == 1


def test_a_policy_says_how_long() -> None:
    retry = adapter.Retry(10, backoff=1, jitter=0, backoff_max=5)
    assert [retry.delay_s(failures) for failures in (1, 2, 3, 4, 10_000)] == [1, 2, 4, 5, 5]
    shaken = {adapter.Retry(jitter=0.5).delay_s(1) for _ in range(100)}
    assert min(shaken) >= 1
    assert max(shaken) <= 1.5
    assert len(shaken) > 50


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"times": -1}, e.InvalidOption),
        ({"times": "5"}, e.InvalidType),
        ({"backoff": -1}, e.InvalidTimeout),
        ({"jitter": 2}, e.InvalidOption),
        ({"jitter": True}, e.InvalidType),
        ({"then": 5}, e.InvalidType),
    ],
)
def test_what_is_no_policy_is_refused(wrong: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        adapter.Retry(**wrong)


def test_units_take_a_policy_and_nothing_else(qm: adapter.Connection) -> None:
    with pytest.raises(e.InvalidType, match=r"retry is an adapter\.Retry"):
        qm.queue("Q").units(retry=5)  # type: ignore[arg-type]


def test_without_then_the_queue_says_where_it_goes(qm: adapter.Connection) -> None:
    qm.alter_queue("Q", backout_requeue_queue="OUT")
    queue = qm.queue("Q")
    queue.put(b"poison")
    work(queue, adapter.Retry(0), refuse(b"poison"))
    assert bodies(qm, "OUT") == [b"poison"]


def test_an_alias_is_a_queue_like_others(qm: adapter.Connection) -> None:
    qm.define_object("alias", "ALIAS", target="Q")
    qm.define_queue("DEAD")
    qm.alter_queue_manager(dead_letter_queue="DEAD")
    queue = qm.queue("ALIAS")
    queue.put_many([b"poison", b"good"])
    again = adapter.Retry(1, 0.02, 0)
    assert work(queue, again, refuse(b"poison"), timeout=0.5) == [b"poison", b"good", b"poison"]
    assert bodies(qm, "DEAD") == [b"poison"]


@pytest.mark.parametrize("name", ["Q", "ALIAS"])
@pytest.mark.parametrize("said_by", ["then", "backout_requeue_queue", "dead_letter_queue"])
def test_what_has_failed_does_not_come_back_at_once_whatever_its_queue_is_called(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture, said_by: str, name: str
) -> None:
    qm.define_object("alias", "ALIAS", target="Q")
    qm.define_object("topic", "T", topic_string="Q")  # a name of another kind
    qm.define_object("alias", "TOPIC", target="T", target_type="TOPIC")
    queue, named = qm.queue("Q"), {said_by: "Q" if said_by == "dead_letter_queue" else name}
    qm.alter_queue("Q", backout_requeue_queue=named.get("backout_requeue_queue", ""))
    qm.alter_queue_manager(dead_letter_queue=named.get("dead_letter_queue", ""))
    retry, seen = adapter.Retry(0, then=named.get("then", ""), backoff_max=60), list[bytes]()

    def act(message: adapter.Message) -> None:
        seen.append(message.body)
        if len(seen) < 5:  # at once, and for ever
            refuse(message.body)(message)

    queue.put(b"1")
    work(queue, retry, act)
    assert (queue.depth(), queue.status().delayed) == (0, 1)
    assert "nor the dead-letter queue takes it: it is tried again in 60 s" in caplog.text
    qm.alter_queue_manager(dead_letter_queue="OUT")
    queue.put(b"2")
    work(queue, retry, act)
    assert bodies(qm, "OUT") == [b"2"]
    queue.put(b"3")
    work(queue, adapter.Retry(0, then="TOPIC", backoff_max=60), act)
    assert (queue.status().delayed, bodies(qm, "OUT")) == (1, [b"2"])
    assert seen == [b"1", b"2", b"3"]
    assert queue.status().open_output_count == 1, "the one of its own puts"


def test_finding_client_5_what_fails_by_an_alias_goes_to_the_backout_queue_of_its_queue(
    qm: adapter.Connection,
) -> None:
    qm.define_object("alias", "ALIAS", target="Q")
    qm.alter_queue("Q", backout_requeue_queue="OUT")
    queue = qm.queue("ALIAS")
    queue.put(b"poison")
    work(queue, adapter.Retry(0), refuse(b"poison"))
    (out,) = qm.queue("OUT").browse()
    assert (out.body, out.properties["mqk.backout_queue"]) == (b"poison", "Q")


def test_finding_client_5_it_comes_back_where_the_alias_led_to(qm: adapter.Connection) -> None:
    qm.define_object("alias", "ALIAS", target="Q")
    qm.put("Q", b"poison")

    for unit in qm.queue("ALIAS").units(timeout=0, retry=adapter.Retry(1, 0, jitter=0)):
        with unit:
            qm.define_object("alias", "ALIAS", target="OUT", replace=True)
            refuse(b"poison")(unit.messages[0])
        break
    assert (bodies(qm, "Q"), bodies(qm, "OUT")) == ([b"poison"], [])


def test_who_may_put_by_the_alias_alone_has_it_back_by_that(qm: adapter.Connection) -> None:
    channel = qm.queue("Q")._channel
    retries = Retries(adapter.Retry(1), channel, 1)
    source, failed = GotFrom("Q", "ALIAS"), adapter.Message(b"poison")
    steps = retries.put_again(AnyUnit(channel), source, failed, ValueError())
    asked = next(steps)
    for _ in range(2):  # the second time without saying who has put it
        assert isinstance(asked, Exchange)
        assert asked.requests[0].command.queue == "Q"
        asked = steps.throw(e.NotAuthorized("user ann may not put"))
    assert isinstance(asked, Exchange)
    assert asked.requests[0].command.queue == "ALIAS"
    with pytest.raises(StopIteration):
        steps.send(None)


@pytest.mark.parametrize("puts", [False, True])
def test_a_user_who_may_not_say_for_whom_it_puts_has_what_fails_tried_later(
    driver: Driver, tmp_path: Path, puts: bool
) -> None:
    with as_ann(driver, tmp_path, "get", "put") as (operator, ann):
        operator.put("Q", b"poison", user="bob")
        operator.put("Q", b"next")

        def act(message: adapter.Message) -> None:
            if puts:
                ann.put("FAILED", b"undone")
            refuse(b"poison")(message)

        retry = adapter.Retry(1, 0.02, 0, then="FAILED")
        shown = work(ann.queue("Q"), retry, act, timeout=0.5)
        assert shown == [b"poison", b"next", b"poison"]
        failed = [message for message in operator.queue("FAILED").browse() if message.properties]
        assert [(one.body, one.user) for one in failed] == [(b"poison", "ann")]


def test_a_user_who_sees_neither_queue_nor_queue_manager_has_it_tried_for_ever(
    driver: Driver, tmp_path: Path
) -> None:
    with as_ann(driver, tmp_path, "get", "put") as (operator, ann):
        operator.put("Q", b"poison")
        retry = adapter.Retry(0, 0.02, 0, backoff_max=0.02)
        seen: list[bytes] = []

        def act(message: adapter.Message) -> None:
            seen.append(message.body)
            if len(seen) < 3:
                refuse(b"poison")(message)

        work(ann.queue("Q"), retry, act, timeout=0.5)
        assert seen == [b"poison"] * 3


def test_a_user_who_may_not_see_the_threshold_gets_poison_again(
    driver: Driver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with as_ann(driver, tmp_path, "get", backout_threshold=2) as (operator, ann):
        operator.put("Q", b"poison")
        shown = []
        for unit in ann.queue("Q").units(timeout=0):
            with unit:
                shown.append(unit.messages[0].backout_count)
                if len(shown) < 4:
                    refuse(b"poison")(unit.messages[0])
        assert shown == [0, 1, 2, 3]
        assert "the user may not see" in caplog.text


def test_poison_goes_to_its_backout_queue_also_where_the_user_may_only_put(
    driver: Driver, tmp_path: Path
) -> None:
    attributes = {"backout_threshold": 1, "backout_requeue_queue": "FAILED"}
    with as_ann(driver, tmp_path, "get", "inq", **attributes) as (operator, ann):
        operator.put("Q", b"poison")
        for unit in ann.queue("Q").units(timeout=0):
            with unit:
                refuse(b"poison")(unit.messages[0])
        assert [message.body for message in operator.queue("FAILED").browse()] == [b"poison"]


@pytest.mark.parametrize("counted", [2**63 - 1, -(2**63)])
def test_a_count_of_attempts_that_a_program_has_given_blocks_nothing(
    qm: adapter.Connection, counted: int
) -> None:
    queue = qm.queue("Q")
    queue.put(b"poison", properties={"mqk.attempts": counted})
    queue.put(b"next")
    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    shown = work(queue, retry, refuse(b"poison"), timeout=0.5)
    assert shown == [b"poison", b"next", *[b"poison"] * (counted < 0)]
    assert bodies(qm, "FAILED") == [b"poison"]


def test_what_is_published_is_retried_where_the_subscription_gets_it(
    qm: adapter.Connection,
) -> None:
    with qm.subscribe("a/b") as subscription:
        qm.publish("a/b", b"poison")
        retry = adapter.Retry(1, 0.02, 0, then="FAILED")
        assert work(subscription, retry, refuse(b"poison"), timeout=0.5) == [b"poison"] * 2
    assert bodies(qm, "FAILED") == [b"poison"]


def test_else_it_goes_to_the_dead_letter_queue(qm: adapter.Connection) -> None:
    qm.define_queue("DEAD")
    qm.alter_queue_manager(dead_letter_queue="DEAD")
    queue = qm.queue("Q")
    queue.put(b"poison", format="MQSTR")
    work(queue, adapter.Retry(0, then="MISSING"), refuse(b"poison"))
    (dead,) = qm.queue("DEAD").browse()
    assert dead.dead_letter is not None
    assert (dead.body, dead.format, dead.feedback) == (b"poison", "MQSTR", 2362)
    assert (dead.dead_letter.reason, dead.dead_letter.destination) == (2362, "Q")
    assert dead.properties["mqk.error"] == "ValueError: cannot do b'poison'"


def test_what_nothing_takes_is_tried_for_ever(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture
) -> None:
    qm.alter_queue_manager(dead_letter_queue="")
    queue = qm.queue("Q")
    queue.put_many([b"poison", b"good"])
    retry = adapter.Retry(0, 0.02, 0, then="MISSING", backoff_max=0.05)
    seen: list[bytes] = []

    def act(message: adapter.Message) -> None:
        seen.append(message.body)
        if seen.count(b"poison") < 4:
            refuse(b"poison")(message)

    work(queue, retry, act, timeout=0.5)
    assert seen == [b"poison", b"good", b"poison", b"poison", b"poison"]
    assert "neither a backout_requeue_queue nor the dead-letter queue takes it" in caplog.text


def test_a_queue_that_takes_no_puts_gives_it_away_at_once(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"poison", b"good"])
    qm.alter_queue("Q", inhibit_put=True)
    retry = adapter.Retry(5, then="FAILED")
    assert work(queue, retry, refuse(b"poison")) == [b"poison", b"good"]
    assert bodies(qm, "FAILED") == [b"poison"]


@pytest.mark.parametrize("puts", [False, True])
def test_what_can_be_put_nowhere_stays_and_is_told(
    qm: adapter.Connection, caplog: pytest.LogCaptureFixture, puts: bool
) -> None:
    qm.alter_queue_manager(dead_letter_queue="")
    queue = qm.queue("Q")
    queue.put(b"poison")
    qm.alter_queue("Q", inhibit_put=True)
    failing = put_and_refuse(qm, b"poison") if puts else refuse(b"poison")
    threading.Timer(0.3, lambda: qm.alter_queue("Q", inhibit_put=False)).start()
    assert work(queue, LATER, failing) == [b"poison"]
    assert "has failed, and stays before the others: puts are inhibited" in caplog.text
    assert (queue.depth(), queue.status().delayed) == (0, 1)


def test_what_comes_back_from_a_program_that_died_is_tried_later(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"first", b"second"])
    dying = manager.connect()
    assert next(dying.queue("Q").units()).messages[0].body == b"first"
    dying.disconnect(abrupt=True)
    shown = work(queue, SOON, lambda _message: None, timeout=0.5)
    assert shown == [b"second", b"first"]


@pytest.mark.parametrize("retry", [None, SOON])
def test_a_commit_that_failed_before_is_raised_where_a_message_is_set_aside(
    manager: testing.TestQueueManager, qm: adapter.Connection, retry: adapter.Retry | None
) -> None:
    qm.define_queue("SHUT", inhibit_put=True)
    qm.alter_queue("Q", backout_threshold=1, backout_requeue_queue="OUT")
    qm.put("Q", b"poison")
    with manager.connect() as dying:
        units = dying.queue("Q").units()
        assert next(units).messages[0].body == b"poison"
        dying.disconnect(abrupt=True)
    with qm.unit() as failing:
        qm.queue("SHUT").put(b"x", wait=False)
        failing.commit(wait=False)
    with pytest.raises(e.PutInhibited) as caught:
        next(qm.queue("Q").units(timeout=5, retry=retry))
    assert [one.unit_id for one in caught.value.units_failed] == [failing.id]
    assert qm.open_units() == []
    assert bodies(qm, "Q") == [b"poison"]


def test_a_message_that_kills_programs_is_given_up(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    qm.put("Q", b"bomb")
    for _ in range(2):
        with manager.connect() as dying:
            unit = next(dying.queue("Q").units(retry=retry))
            assert unit.messages[0].body == b"bomb"
            dying.disconnect(abrupt=True)
    assert work(qm.queue("Q"), retry, refuse(), timeout=0.3) == []
    (failed,) = qm.queue("FAILED").browse()
    assert failed.properties["mqk.attempts"] == 2


def test_of_several_messages_only_those_that_fail_alone_are_tried_later(
    qm: adapter.Connection,
) -> None:
    queue = qm.queue("Q")
    queue.put_many([b"1", b"poison", b"2"])
    retry = adapter.Retry(1, 0.02, 0, then="FAILED")
    shown = work(queue, retry, refuse(b"poison"), size=3, timeout=0.5)
    assert shown == [b"1", b"poison", b"1", b"poison", b"2", b"poison"]
    (failed,) = qm.queue("FAILED").browse()
    assert failed.properties["mqk.attempts"] == 2


def test_another_program_that_gets_it_first_tries_it_later_too(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    """It waits for messages, so that it gets what is backed out before anybody else."""
    other, shown = manager.connect(), []
    rival = threading.Thread(
        target=lambda: shown.extend(work(other.queue("Q"), LATER, refuse(), timeout=None))
    )

    def act(message: adapter.Message) -> None:
        qm.put("OUT", b"x")
        rival.start()
        time.sleep(0.2)
        refuse(b"poison")(message)

    queue = qm.queue("Q")
    queue.put(b"poison")
    assert work(queue, LATER, act) == [b"poison"]
    until_s = time.monotonic() + 5
    while not queue.status().delayed and time.monotonic() < until_s:
        time.sleep(0.01)
    other.close()
    rival.join(5)
    assert shown == []
    assert (queue.depth(), queue.status().delayed, qm.queue("OUT").depth()) == (0, 1, 0)


def test_a_group_keeps_its_numbers(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    for number in (1, 2):
        queue.put(b"%d" % number, group_id=b"g", group_seq=number, last_in_group=number == 2)
    again: list[tuple[bytes, int, bool]] = []

    def act(message: adapter.Message) -> None:
        again.append((message.body, message.group_seq, message.last_in_group))
        if len(again) == 1:
            raise ValueError

    work(queue, SOON, act, timeout=0.5)
    assert again == [(b"1", 1, False), (b"2", 2, True), (b"1", 1, False)]


def test_only_exceptions_of_programs_are_retried(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    queue.put(b"x")

    def interrupt(_message: adapter.Message) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(queue, LATER, interrupt)
    assert (queue.depth(), queue.status().delayed) == (1, 0)


def test_a_lost_connection_is_outlived(
    manager: testing.TestQueueManager, qm: adapter.Connection
) -> None:
    queue = qm.queue("Q")
    queue.put_many(b"%d" % number for number in range(10))
    done: list[bytes] = []
    retry = adapter.Retry(50, 0.01, 0, backoff_max=0.02)
    for turn, unit in enumerate(queue.units(timeout=0.5, retry=retry)):
        with unit:
            if turn in (0, 3, 6):
                manager.restart()
            if turn in (1, 4, 7):
                raise ValueError
            qm.put("OUT", unit.messages[0].body)
        if not unit.failed:
            done += [message.body for message in unit.messages]
    assert sorted(done) == sorted(bodies(qm, "OUT")) == [b"%d" % number for number in range(10)]
    assert queue.depth() == 0


def test_a_full_message_is_given_up_at_once(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    queue.put(b"poison", properties={f"p{number}": number for number in range(256)})
    assert work(queue, adapter.Retry(5, then="FAILED"), refuse(b"poison")) == [b"poison"]
    assert bodies(qm, "FAILED") == [b"poison"]


def test_a_unit_says_why_it_failed(qm: adapter.Connection) -> None:
    queue = qm.queue("Q")
    queue.put(b"x")
    units: list[Work] = []
    for unit in queue.units(timeout=0, retry=LATER):
        units.append(unit)
        with unit:
            raise ZeroDivisionError
    (one,) = units
    assert one.failed
    assert isinstance(one.error, ZeroDivisionError)
