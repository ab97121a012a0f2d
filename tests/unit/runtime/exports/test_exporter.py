"""One exporter: what it writes, in which steps, and what it does after each failure."""

from collections.abc import Callable
from typing import Any

import pytest

from adapter.core.attributes.export import ExportAttributes
from adapter.core.contract import commands as c
from adapter.core.contract.limits import Limits
from adapter.errors import ConnectionBroken, Error, QueueInUse, QueueNotFound
from adapter.runtime.exports import dead_letters, exporter
from adapter.runtime.exports.exporter import (
    Counts,
    Export,
    ExporterEnd,
    ExportSession,
    RefusedMessages,
)
from adapter.runtime.exports.memory import MemoryExports, MemoryExportWriter
from adapter.runtime.exports.port import ExportError, RecordRefusedError, TopicRefusedError
from adapter.storage.format.exports import decode
from adapter.storage.topics.memory import MemoryTopics, UnwrittenRecord
from tests.support.core import Core
from tests.support.core_link import channel_on
from tests.support.export_topics import (
    HIDDEN,
    LANDED,
    LOST,
    UNSHOWN,
    FaultyExports,
    FaultyWriter,
)

RECORD_BYTES = 100


@pytest.fixture(autouse=True)
def few_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "WAITS", 2)


class Site:
    """A queue manager with an export, and its topic. steps: of the exporters' work."""

    def __init__(self, limits: Limits | None = None, **attributes: Any) -> None:
        self.core = Core(limits)
        self.client = self.core.connect()
        self.client.define("Q", msg_delivery_sequence="FIFO")
        self.client.define("DEAD")
        self.client.do(c.AlterObject("queue_manager", "QM1", {"dead_letter_queue": "DEAD"}))
        self.client.open("Q", c.OUTPUT)
        self.topics = MemoryTopics()
        self.topics.create("T", 1, RECORD_BYTES)
        self.exports = FaultyExports(self.topics, self.at_topic, RECORD_BYTES)
        self.export = Export("E", ExportAttributes(queue="Q", topic="T", **attributes))
        self.counts = Counts()
        self.refused = RefusedMessages()
        self.ending = ExporterEnd()
        self.steps: list[str] = []
        self.commits: list[str] = []
        self.happens: dict[str, Callable[[], object]] = {}

    def at_topic(self, when: str) -> str:
        self._step(when)
        return self.commits.pop(0) if when == "write" and self.commits else ""

    def _at_core(self, when: str, command: c.Command | None) -> bool:
        self._step(f"{when} {type(command).__name__}" if command is not None else when)
        return True

    def _step(self, step: str) -> None:
        self.steps.append(step)
        if step in self.happens:
            self.happens.pop(step)()

    def run(self) -> None:
        channel = channel_on(self.core, self._at_core)
        try:
            ExportSession(
                self.export, channel, self.exports, self.counts, self.refused, self.ending
            ).run()
        finally:
            channel.close()

    def fail(self, error: type[BaseException]) -> str:
        with pytest.raises(error) as caught:
            self.run()
        return str(caught.value)

    def put(self, *bodies: str, **fields: Any) -> None:
        for body in bodies:
            self.client.put(body, persistence=1, **fields)

    @property
    def written(self) -> list[str]:
        return [(one.value or b"").decode() for one in self.topics.records("T")]

    @property
    def numbers(self) -> list[bytes | None]:
        return [dict(one.headers)["mqk-export"] for one in self.topics.records("T")]

    @property
    def depth(self) -> int:
        return self.core.queue("Q").depth

    def letters(self) -> list[tuple[str, int]]:
        reader = self.core.connect()
        reader.open("DEAD", c.INPUT)
        found = []
        while got := reader.take():
            body = got[0].message.body
            reason = int.from_bytes(body[8:12], "little") or int.from_bytes(body[8:12], "big")
            found.append((body[172:].decode(), reason))
        return found


def test_it_writes_what_there_is_and_ends() -> None:
    site = Site()
    site.put("1", "2", "3")
    site.run()
    assert site.written == ["1", "2", "3"]
    assert site.numbers == [b"QM1 E 1"] * 3
    assert site.depth == 0
    assert (site.counts.records, site.counts.bytes, site.counts.ends) == (3, 3, {0: 3})
    assert (site.counts.state, site.counts.why) == ("waiting", "")


def test_it_writes_what_comes_while_it_waits() -> None:
    site = Site()
    site.happens["waits"] = lambda: site.put("late")
    site.run()
    assert site.written == ["late"]


def test_each_transaction_has_a_number_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporter, "GET_MESSAGES", 2)
    site = Site()
    site.put("1", "2", "3")
    site.run()
    site.put("4")
    site.run()
    assert site.numbers == [b"QM1 E 1", b"QM1 E 1", b"QM1 E 2", b"QM1 E 3"]


def test_a_transaction_comes_between_the_get_and_the_commit() -> None:
    """And the queue manager is asked for an entry when the topic has been taken over."""
    site = Site()
    site.put("1")
    site.run()
    of_interest = ("resume", "before AskOutcome", "after Get", "write", "written", "before Commit")
    assert [one for one in site.steps if one in of_interest][:6] == list(of_interest)


@pytest.mark.parametrize(("what", "times"), [(LOST, 1), (LANDED, 1), (HIDDEN, 1)])
def test_a_doubtful_transaction_counts_once(what: str, times: int) -> None:
    site = Site()
    site.put("1", "2")
    site.commits = [what]
    assert "not answered" in site.fail(ExportError)
    assert site.depth == 2
    site.run()
    assert site.written == ["1", "2"] * times
    assert site.depth == 0
    assert (site.counts.records, site.counts.bytes) == (2, 2), "counted once it is known"


@pytest.mark.parametrize("step", ["written", "before Commit"])
@pytest.mark.parametrize("ends", ["crash", "crash_with_snapshot"])
def test_what_was_written_and_not_committed_is_not_written_again(step: str, ends: str) -> None:
    site = Site()
    site.put("1", "2")
    site.happens[step] = getattr(site.core, ends)
    site.fail(Error)
    site.client = site.core.connect()
    site.client.open("Q", c.OUTPUT)
    site.put("3")
    assert site.depth == 3
    site.run()
    assert site.written == ["1", "2", "3"]
    assert site.depth == 0


def test_two_failures_one_after_the_other() -> None:
    """The places of the first transaction count while its messages are on the queue."""
    site = Site()
    site.put("1", "2")
    site.commits = [LANDED]
    site.fail(ExportError)
    site.put("3")
    site.commits = [LANDED]
    site.fail(ExportError)
    site.run()
    assert site.written == ["1", "2", "3"]
    assert site.counts.records == 3
    assert len(decode(site.exports.progress["QM1", "E"]).places) == 3


def test_places_that_are_gone_are_forgotten() -> None:
    site = Site()
    for _ in range(3):
        site.put("x")
        site.run()
    assert len(decode(site.exports.progress["QM1", "E"]).places) == 1


def test_places_are_of_one_queue() -> None:
    """A queue of the same name has the same places again."""
    site = Site()
    site.put("1", "2")
    site.commits = [LANDED]
    site.fail(ExportError)
    site.client.do(c.Close(1))
    site.client.do(c.DeleteQueue("Q", purge=True))
    site.client.define("Q", msg_delivery_sequence="FIFO")
    site.client.open("Q", c.OUTPUT)
    site.put("3", "4")
    site.run()
    assert site.written == ["1", "2", "3", "4"]


def test_an_export_of_another_queue_writes_all() -> None:
    site = Site()
    site.put("1")
    site.commits = [LANDED]
    site.fail(ExportError)
    site.client.define("OTHER", msg_delivery_sequence="FIFO")
    site.client.open("OTHER", c.OUTPUT, handle=2)
    site.client.put("2", handle=2, persistence=1)
    site.export = Export("E", ExportAttributes(queue="OTHER", topic="T"))
    site.run()
    assert site.written == ["1", "2"]


def test_messages_that_are_not_persistent_are_written_once() -> None:
    site = Site()
    site.client.put("soft", persistence=0)
    site.commits = [LANDED]
    site.fail(ExportError)
    site.run()
    assert site.written == ["soft"]
    site.client.put("lost", persistence=0)
    site.core.crash()
    site.client = site.core.connect()
    site.client.open("Q", c.OUTPUT)
    site.client.put("again", persistence=0)
    site.run()
    assert site.written == ["soft", "again"]


def test_a_failure_raises_no_backout_count() -> None:
    site = Site()
    site.put("1")
    for _ in range(3):
        site.commits = [LOST]
        site.fail(ExportError)
    reader = site.core.connect()
    reader.open("Q", c.INPUT)
    assert reader.take()[0].backout_count == 0


def test_one_exporter_at_a_time() -> None:
    site = Site()
    other = site.core.connect()
    other.open("Q", c.INPUT)
    assert "in use" in site.fail(QueueInUse)
    assert "resume" not in site.steps, "it takes the topic over from no one"


def test_a_queue_that_does_not_exist() -> None:
    site = Site()
    site.client.do(c.Close(1))
    site.client.do(c.DeleteQueue("Q"))
    site.fail(QueueNotFound)


def test_a_topic_that_does_not_exist() -> None:
    site = Site()
    site.put("1")
    site.topics.delete("T")
    assert "topic T does not exist" in site.fail(TopicRefusedError)
    site.topics.create("T")
    site.happens["after Get"] = lambda: site.topics.delete("T")
    with pytest.raises(Exception, match="topic T does not exist"):
        site.run()
    assert site.depth == 1


def test_an_exporter_that_was_replaced_writes_nothing() -> None:
    site = Site()
    site.put("1")
    site.happens["after Get"] = lambda: site.exports.writer("QM1", "E", "T").resume()
    assert "another writer has taken over" in site.fail(ExportError)
    assert site.written == []
    assert site.depth == 1


def test_what_kafka_does_not_show_is_a_failure_when_there_is_time() -> None:
    site = Site()
    site.put("1")
    site.commits = [UNSHOWN]
    assert "does not show" in site.fail(ExportError)
    assert site.written == []
    assert site.depth == 0
    site.run()
    assert site.written == ["1"]


# Messages that the topic does not take.


def test_a_message_that_is_no_record_is_a_dead_letter() -> None:
    site = Site()
    site.put("1")
    site.put("bad", properties={"KafkaToPartition": "x"})
    site.put("2")
    site.run()
    assert site.written == ["1", "2"]
    assert site.letters() == [("bad", 2110)]
    assert site.counts.dead_letters == 1


@pytest.mark.parametrize("count", [254, 255, 256])
def test_a_dead_letter_of_many_properties_says_what_it_has_room_for(count: int) -> None:
    site = Site()
    properties: dict[str, Any] = {f"p{number}": number for number in range(count - 1)}
    site.put("bad", properties={**properties, "KafkaToPartition": "x"})
    site.put("2")
    site.run()
    assert site.written == ["2"]
    reader = site.core.connect()
    reader.open("DEAD", c.INPUT)
    told = reader.take()[0].message.properties or {}
    assert len(told) == max(count, 256 if count < 255 else 0)
    assert ("KafkaError" in told) is (count < 255)


@pytest.mark.parametrize("most", [2, 3, 10])
def test_dead_letters_that_are_too_many_for_one_unit_are_put_in_several(most: int) -> None:
    site = Site(Limits(unit_messages=most))
    for n in range(12):
        site.put(str(n), properties={"KafkaToPartition": "x"})
    site.put("good")
    site.run()
    assert (site.written, site.depth, site.counts.dead_letters) == (["good"], 0, 12)
    assert [body for body, _ in site.letters()] == [str(n) for n in range(12)]


def test_a_unit_that_has_no_room_for_any_dead_letter_says_which_setting_to_raise() -> None:
    site = Site(Limits(unit_messages=1))
    site.put("bad", properties={"KafkaToPartition": "x"})
    assert site.fail(ExportError).endswith(
        "the unit that got it has no room for its dead letter: raise max_uncommitted_messages"
    )


def test_a_unit_of_dead_letters_alone_writes_nothing() -> None:
    site = Site()
    site.put("bad", "bad too", properties={"KafkaToPartition": "x"})
    site.run()
    assert "write" not in site.steps
    assert site.letters() == [("bad", 2110), ("bad too", 2110)]
    assert site.depth == 0


def test_a_message_that_the_topic_refuses_is_a_dead_letter_next_time() -> None:
    site = Site()
    long = "x" * (RECORD_BYTES + 1)
    site.put("1", long, "2")
    assert "100 bytes at most" in site.fail(RecordRefusedError)
    assert (site.written, site.depth) == ([], 3)
    site.run()
    assert site.written == ["1", "2"]
    assert site.letters() == [(long, 2030)]
    assert site.counts.dead_letters == 1
    assert not site.refused.by_place, "its place is forgotten when the others are written"


def test_several_refused_messages_are_found_one_by_one() -> None:
    site = Site()
    site.put("1")
    site.put("a", "b", properties={"KafkaToPartition": 7})
    for _ in range(2):
        site.fail(RecordRefusedError)
    site.run()
    assert site.written == ["1"]
    assert site.letters() == [("a", 2110), ("b", 2110)]
    assert site.counts.dead_letters == 2, "those of units that were backed out do not count"


@pytest.mark.parametrize("count", [1, 7, 60])
@pytest.mark.parametrize("others", [0, 1, 3])
def test_many_refused_messages_cost_one_attempt_each(
    count: int, others: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And one dead letter each: what an attempt has learned is committed before the next one."""
    letters: list[object] = []
    put_dead_letter = dead_letters.put_dead_letter

    def put(*arguments: Any) -> None:
        letters.append(arguments)
        put_dead_letter(*arguments)

    monkeypatch.setattr(exporter, "put_dead_letter", put)
    site = Site()
    good = []
    for n in range(count):
        site.put(f"bad {n}", properties={"KafkaToPartition": 7})
        for other in range(others):
            good.append(f"good {n} {other}")
            site.put(good[-1])
    attempts = 0
    while True:
        attempts += 1
        try:
            site.run()
            break
        except RecordRefusedError:
            assert attempts <= count
    assert site.written == good
    assert [body for body, _ in site.letters()] == [f"bad {n}" for n in range(count)]
    assert len(letters) == count == site.counts.dead_letters


def test_all_that_one_attempt_learns_is_one_attempt() -> None:
    """A topic may say of several records at once that it does not take them."""
    site = Site()
    site.put("1", "a", "2", "b", "3")

    def refuse(writer: MemoryExportWriter, records: Any, _progress: object) -> None:
        bad = [at for at, one in enumerate(records) if one.value in (b"a", b"b")]
        errors = [RecordRefusedError("no", at, is_too_long=True) for at in bad]
        if errors:
            errors[0].others = errors[1:]
            raise errors[0]
        site.topics.append("T", *(UnwrittenRecord(one.value) for one in records))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FaultyWriter, "write", refuse)
        with pytest.raises(RecordRefusedError):
            site.run()
        site.run()
    assert site.written == ["1", "2", "3"]
    assert site.letters() == [("a", 2030), ("b", 2030)]


def test_what_is_refused_beforehand_begins_no_transaction_again() -> None:
    """A topic in memory, as one of Kafka of a partition, says it without being written."""
    site = Site()
    site.exports = MemoryExports(site.topics)  # type: ignore[assignment]
    long = "x" * (RECORD_BYTES + 1)
    site.put("1", long)
    site.put("bad", properties={"KafkaToPartition": 7})
    site.put("no record", properties={"KafkaToPartition": "x"})
    site.put("2")
    site.run()
    assert site.written == ["1", "2"]
    assert site.letters() == [(long, 2030), ("bad", 2110), ("no record", 2110)]
    assert site.counts.dead_letters == 3


def test_a_message_that_jumps_the_queue_makes_nothing_of_what_was_refused_forgotten() -> None:
    site = Site()
    site.client.do(c.AlterQueue("Q", {"msg_delivery_sequence": "PRIORITY"}))
    site.put("bad", properties={"KafkaToPartition": 7})
    site.fail(RecordRefusedError)
    site.put("first", priority=9)
    site.run()
    assert (site.written, site.letters()) == (["first"], [("bad", 2110)])


def test_a_message_may_wait_until_the_topic_takes_it() -> None:
    site = Site(refused="WAIT")
    site.put("1")
    site.put("bad", properties={"KafkaToPartition": 7})
    site.fail(RecordRefusedError)
    assert "waits: topic T has no partition 7" in site.fail(ExportError)
    assert (site.written, site.depth) == ([], 2)
    site.fail(RecordRefusedError)
    assert site.letters() == []


@pytest.mark.parametrize(
    ("alter", "says"),
    [
        (("queue_manager", "QM1", {"dead_letter_queue": ""}), "has no dead-letter queue"),
        (("queue_manager", "QM1", {"dead_letter_queue": "NONE"}), "does not take it"),
    ],
)
def test_without_a_dead_letter_queue_the_message_waits(alter: Any, says: str) -> None:
    site = Site()
    site.client.do(c.AlterObject(*alter))
    site.put("bad", properties={"KafkaToPartition": "x"})
    said = site.fail(ExportError)
    assert says in said
    assert "waits: property KafkaToPartition is 'x'" in said
    assert site.depth == 1


def test_an_entry_is_asked_for_of_an_owner_that_was_replaced() -> None:
    """It stood still since it opened the queue: its successor has written what is there."""
    site = Site()
    site.put("1")
    withheld: list[str] = []

    def withhold(when: str, command: c.Command | None) -> bool:
        is_withheld = isinstance(command, (c.SessionOpen, c.AskOutcome, c.Commit))
        if is_withheld and when == "before":
            withheld.append(type(command).__name__)
        return not is_withheld

    channel = channel_on(site.core, withhold)
    session = ExportSession(site.export, channel, site.exports, site.counts, site.refused)
    with pytest.raises(ConnectionBroken):
        session.run()
    channel.close()
    assert withheld[0] == "AskOutcome"
    assert site.written == []


def test_an_end_that_is_asked_for_while_it_writes_waits_for_the_commit() -> None:
    """Else what it has written would be on the queue still, for another export or program."""
    site = Site()
    site.put("1")
    at_once: list[bool] = []

    def ask() -> None:
        at_once.append(site.ending.want())
        site.put("2")

    site.happens["write"] = ask
    site.run()
    assert at_once == [False]
    assert site.written == ["1"]
    assert site.depth == 1


@pytest.mark.parametrize("step", ["waits", "after Get"])
def test_an_end_that_is_asked_for_before_it_writes_comes_at_once(step: str) -> None:
    site = Site()
    if step != "waits":
        site.put("1")
    at_once: list[bool] = []
    site.happens[step] = lambda: at_once.append(site.ending.want())
    site.run()
    assert at_once == [True]
    assert site.written == []
    assert site.depth == (step != "waits")


def test_messages_in_their_order_of_priority() -> None:
    site = Site()
    site.client.do(c.AlterQueue("Q", {"msg_delivery_sequence": "PRIORITY"}))
    for body, priority in (("low", 1), ("high", 9), ("low too", 1), ("high too", 9)):
        site.put(body, priority=priority)
    site.run()
    assert site.written == ["high", "high too", "low", "low too"]


def test_an_uncommitted_message_is_passed_over() -> None:
    site = Site()
    unit = site.client.begin()
    site.client.put("later", unit=unit, persistence=1)
    site.put("1")
    site.run()
    assert site.written == ["1"]
    site.client.do(c.Commit(unit))
    site.run()
    assert site.written == ["1", "later"]


def test_expired_messages_are_not_written() -> None:
    site = Site()
    site.put("gone", expiry_ms=1_000)
    site.put("1")
    site.core.advance(2)
    site.run()
    assert site.written == ["1"]
