"""Every kind of ledger record is explained, in words and as data; also those that do not count."""

import json

import pytest

from adapter.cli import explain, output
from adapter.cli.explain import in_words, ranges
from adapter.core.contract import records as r
from adapter.core.contract.channel_rules import ChannelRule, ChannelRuleSet
from adapter.core.contract.message import MessageData
from adapter.core.contract.spans import Span
from adapter.storage.format import entries
from adapter.storage.ledger.envelope import ENTRY, OWNER_CHANGED, Envelope, decode
from adapter.storage.ledger.signs import probe
from adapter.storage.ledger.validity import Verdict
from tests.support.each import each

OWNER = bytes(range(16))
UNIT = bytes(23) + b"\x05"
DIALOG = bytes(15) + b"\x07"
OUTCOME = r.OutcomeOf(bytes(15) + b"\x09", 3, [1])
OF_COMMAND = " [command 3 of session 000000000009]"
PUT_ON_A = "put 3 on A (lane 5: seq 7; lane 0: seq 1-2)"


def placed(queue: str, lane: int, seq: int) -> r.Placed:
    message = MessageData(
        body=b"secret", message_id=b"m" * 24, correlation_id=bytes(24), group_id=bytes(24),
        priority=lane, persistence=1, put_time_ms=1_700_000_000_000,
    )  # fmt: skip
    return r.Placed(queue, lane, seq, 0, 0, 0, 1, message)


RECORDS: list[tuple[r.Record, str]] = [
    (
        r.UnitCommitted(
            UNIT, 3, [placed("A", 0, 1), placed("A", 0, 2), placed("A", 5, 7)],
            [r.Taken("B", 9, 4)], "commit", OUTCOME,
        ),
        f"unit 000000000005 committed: {PUT_ON_A}; got 1 on B (lane 9: seq 4){OF_COMMAND}",
    ),
    (
        r.UnitCommitted(UNIT, 1, [], [r.Taken("B", 0, 4)], "get", None),
        "unit 000000000005 committed (a get outside a unit): got 1 on B (lane 0: seq 4)",
    ),
    (
        r.BackoutCounted([r.Taken("B", 0, 4)], None),
        "backed out, and backout count raised: 1 on B (lane 0: seq 4)",
    ),
    (
        r.DeliveryCounted([r.Taken("B", 0, 4)]),
        "handed out to a unit, and counted as backed out until it commits: 1 on B (lane 0: seq 4)",
    ),
    (
        r.MessagesDiscarded([r.Taken("B", 0, 4), r.Taken("B", 0, 6)], "expired"),
        "expired, and gone: 2 on B (lane 0: seq 4, 6)",
    ),
    (
        r.QueueDefined("Q", 2, {"max_depth": 5}),
        "queue Q defined (defined 2 times before): max_depth=5",
    ),
    (r.QueueAltered("Q", {"inhibit_get": True}), "queue Q altered: inhibit_get=True"),
    (r.QueueDeleted("Q"), "queue Q deleted, with what was on it"),
    (
        r.SessionOpened(OUTCOME.session, 1_700_000_000_123),
        "session 000000000009 opened at 2023-11-14T22:13:20.123Z",
    ),
    (r.SessionBound(OUTCOME.session, "ann"), "session 000000000009 is that of user ann"),
    (r.SessionExpired(OUTCOME.session), "session 000000000009 forgotten"),
    (r.UnitFenced(UNIT), "unit 000000000005 fenced: it was reported as backed out"),
    (r.QueuePurged("Q", [], 7), "queue Q purged: 7 messages gone"),
    (r.NamesRestored({"Q": 1}), "snapshot: 1 name of queues"),
    (r.QueueRestored("Q", 0, {}, 0, False, [1, 2]), "snapshot: queue Q, 3 on it"),
    (
        r.ConsumedRestored(1_700_000_000_000, [r.QueueNoted("Q", 0, [7])]),
        "snapshot: consumed messages of 1 queue, noted 2023-11-14T22:13:20.000Z",
    ),
    (r.LaneRestored("Q", 3, 9, [1, 8], [], []), "snapshot: lane 3 of Q"),
    (r.ObjectDefined("process", "P", {"appl_id": "x"}), "process P defined: appl_id='x'"),
    (r.ObjectAltered("process", "P", {"appl_id": "y"}), "process P altered: appl_id='y'"),
    (r.ObjectDeleted("process", "P"), "process P deleted"),
    (r.ConsumerSet("Q", "C", UNIT, 1000, 4, 0), "consumer C of Q: batch 4 is consumed"),
    (
        r.BatchClaimed("Q", "C", [Span(0, 1, 7, 0), Span(0, 9, 9, 0)], []),
        "consumer C of Q was assigned 8 messages",
    ),
    (r.BatchDelivered("Q", "C", 5), "batch 5 of consumer C of Q handed out"),
    (
        r.BatchesConsumed("Q", "C", 5, 8, 0),
        "batches of consumer C of Q consumed up to 5: 8 messages",
    ),
    (
        r.BatchReturned("Q", "C", 5, 8, 1, 0),
        "batch 5 of consumer C of Q went back: 8 messages, counts raised by 1",
    ),
    (r.ConsumerDeleted("Q", "C"), "consumer C of Q deleted"),
    (
        r.DelayedExpired("Q", [r.Taken("SYSTEM.DELAYED.QUEUE", 0, 4)]),
        "1 message for Q expired before delivery",
    ),
    (
        r.DelaysRestored("Q", [1_700_000_000_000, 3, 9, 0]),
        "snapshot: delivery times of 1 delayed message for Q",
    ),
    (
        r.UnitArrived("mq.A.in.B", "t", 7, "B", "id", "A", 0, [0, 1, 0, 0, 2, 0], [0, 1, 1]),
        "2 messages arrived by mq.A.in.B; it is read from offset 7 next",
    ),
    (
        r.ArrivalsRestored("id", "A", 3, [0, 1, 1], [], []),
        "snapshot: what arrived of queue A, incarnation 3, of id",
    ),
    (
        r.PositionsRestored([r.PositionNoted("mq.A.in.B", "t", 7)]),
        "snapshot: from where 1 topics of arrivals are read next",
    ),
    (
        r.FeedMoved("F", "t", [0, 7, 3, 9]),
        "feed F has read partition 0 up to offset 7, partition 3 up to offset 9",
    ),
    (
        r.AuthoritySet("ORDERS.**", "queue", "ada", False, 0x18),
        "user ada has inq put on queue ORDERS.**",
    ),
    (
        ChannelRuleSet(ChannelRule("*", "BLOCKUSER", users=["eve"])),
        "channel authentication record * BLOCKUSER set",
    ),
    (
        ChannelRuleSet(ChannelRule("*", "BLOCKUSER", users=["eve"]), True),
        "channel authentication record * BLOCKUSER deleted",
    ),
    (r.AuthoritySet("Q", "queue", "g", True, 0), "group g has no authority on queue Q"),
    (
        r.AuthorityDeleted("SELF", "qmgr", "g", True),
        "authority record of group g on qmgr SELF deleted",
    ),
    (r.FeedSet("F", "LATEST", "", []), "feed F has read nothing, and begins at LATEST"),
    (r.FeedSet("F", "", "t", [0, 7]), "feed F has read partition 0 up to offset 7"),
    (
        r.ConversationSet(DIALOG, DIALOG, DIALOG, "q", "S", "T", "", "DEFAULT", True, 5, sent=2),
        "endpoint 000000000007 of service S: it has sent 2 messages",
    ),
    (r.ConversationGone(DIALOG), "endpoint 000000000007 forgotten"),
    (
        r.RowsRestored(DIALOG, [1, 2], []),
        "snapshot: 2 messages of endpoint 000000000007",
    ),
    (r.ReceiveNoted("q", UNIT, False), "unit 000000000005 has received from q"),
    (r.ReceiveNoted("q", UNIT, True), "unit 000000000005 has ended, which received from q"),
    (r.HeadsRestored("Q", [3, 1, 9]), "snapshot: age of what Q begins with"),
    (
        r.MessageRestored(UNIT, 1, placed("Q", 3, 7)),
        "snapshot: message 7 of lane 3 of Q, which was on no topic yet",
    ),
    (
        r.SessionRestored(OUTCOME.session, 0, 4, [], [], -1),
        "snapshot: session 000000000009",
    ),
    (
        r.OutcomeRestored(OUTCOME.session, 4, "done", 0, UNIT, 0, UNIT, 0, [], []),
        "snapshot: outcome of command 4 of session 000000000009",
    ),
    (
        r.OutcomeRecorded(OUTCOME, 4),
        "done, 4 messages concerned [command 3 of session 000000000009]",
    ),
    (
        r.EventRaised("queue full", "Q", 1_700_000_000_000, {"depth": "5"}),
        "event queue full of Q at 2023-11-14T22:13:20.000Z, depth=5",
    ),
]  # fmt: skip


NAMES = [f"{number}-{type(record).__name__}" for number, (record, _) in enumerate(RECORDS)]


@each(RECORDS)
def test_every_record_is_explained(record: r.Record, words: str) -> None:
    assert in_words(record) == words


def test_every_kind_of_record_is_here() -> None:
    kinds = {type(record) for record, _ in RECORDS}
    assert kinds == set(r.Record.__args__)


@pytest.mark.parametrize(("record", "words"), RECORDS, ids=NAMES)
def test_every_record_is_data_too(
    record: r.Record, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    payload = entries.encode([record])
    envelope = Envelope(ENTRY, OWNER, 1, payload)
    shown = explain.explain(7, 1_700_000_000_000, len(payload), Verdict.VALID, envelope)
    assert shown.lines == [words]
    output.emit(shown.records)
    (told,) = json.loads(capsys.readouterr().out)
    assert told["record"] == type(record).__name__
    assert "secret" not in str(told), "bodies are not shown"


def test_a_change_of_owner_says_who() -> None:
    envelope = Envelope(OWNER_CHANGED, OWNER, 0, b"QM1 (process 7)")
    shown = explain.explain(0, -1, 30, Verdict.OWNER_CHANGED, envelope)
    assert shown.lines == ["from here on the ledger is owned by QM1 (process 7)"]
    assert (shown.verdict, shown.owner, shown.n, shown.time) == (
        "owner_changed", OWNER.hex(), 0, "",
    )  # fmt: skip


def test_a_probe_is_called_one() -> None:
    shown = explain.explain(4, 0, 26, Verdict.VOID, decode(probe(OWNER)))
    assert shown.lines == ["a start asked for the ledger's time, to see whether its owner is alive"]


def test_a_heartbeat_is_called_one() -> None:
    envelope = Envelope(ENTRY, OWNER, 1, entries.encode([]))
    shown = explain.explain(3, 0, 30, Verdict.VALID, envelope)
    assert "heartbeat" in shown.lines[0]


def test_what_does_not_count_is_explained_all_the_same() -> None:
    envelope = Envelope(ENTRY, OWNER, 9, entries.encode([r.QueueDeleted("Q")]))
    for verdict in (Verdict.VOID, Verdict.DUPLICATE):
        shown = explain.explain(3, 0, 30, verdict, envelope)
        assert shown.verdict == verdict.name.lower()
        assert shown.lines == ["queue Q deleted, with what was on it"]


def test_what_cannot_be_read_is_no_failure() -> None:
    shown = explain.explain(3, 0, 5, Verdict.CORRUPT, None)
    assert (shown.verdict, shown.owner, shown.n, shown.lines) == ("corrupt", None, None, [])
    shown = explain.explain(3, 0, 5, Verdict.VALID, Envelope(ENTRY, OWNER, 1, b"\x01\xff"))
    assert shown.lines[0].startswith("unreadable: ")


def test_every_verdict_has_a_meaning() -> None:
    assert set(explain.MEANING) == set(Verdict)


@pytest.mark.parametrize(
    ("numbers", "text"),
    [([], ""), ([5], "5"), ([3, 1, 2], "1-3"), ([1, 3, 4, 7], "1, 3-4, 7")],
)
def test_ranges(numbers: list[int], text: str) -> None:
    assert ranges(numbers) == text
