"""What goes wrong in the simulation, by name."""

from __future__ import annotations

from adapter.storage.ledger.memory import FAULTS as APPEND_FAULTS
from tests.simulation import transactions as t
from tests.simulation.forger import FORGERIES
from tests.simulation.storage import STORAGE_FAULTS

RIVAL = "rival mover"
COMMIT_FAULTS = (
    t.BEFORE_COMMIT,
    t.AFTER_COMMIT,
    t.LOST,
    t.UNANSWERED,
    t.LATE,
    t.TWICE,
    t.HANGING,
    RIVAL,
)
CRASHES = (
    "crash at rest",
    "crash before an append",
    "crash with entries in flight",
    "crash while taking over",
    "stop",
)
MOVER_CRASHES = (
    "mover crash while it begins",
    "mover crash between transactions",
    "mover crash in a transaction",
)
REFUSED = "topic refuses"
GONE = "topic gone"
TOPIC_FAULTS = (REFUSED, GONE)
NO_ROOM = "no room for an outcome"
OTHER_FAULTS = ("connection lost", "session taken over", "outcome asked again", NO_ROOM)
TOUCHED = "unit ahead touched"
PUT_REFUSED = "deferred put refused"
COMMITS_IN_FLIGHT = "commit while another one is in flight"
CRASH_WITH_COMMITS = "crash with several commits in flight"
TRIGGERS = (
    *(f"trigger by {way}" for way in ("1", "10", "11", "12a", "12b", "12c", "12d")),
    "trigger message taken back",
    "trigger message is a dead letter",
    "trigger message lost",
)
"""Every way to a trigger message, and from there."""
GROUPS = (
    "message cut",
    "message reassembled",
    "whole group got in order",
    "group got in units",
    "group browsed in order",
    "handle taken back",
    *(f"put INCOMPLETE_{what}" for what in ("GROUP", "MESSAGE")),
    *(f"put INCONSISTENT_{what}" for what in ("PERSISTENCE", "UNIT")),
    "browse locks",
    "got under the cursor",
    "waiting get served",
    "waiting browse served",
)
DYNAMIC_QUEUES = (
    "queue made TEMPDYN",
    "queue made PERMDYN",
    "temporary queue gone with its maker",
    "temporary queue gone with a restart",
    "queue deleted at its close",
    "queue deleted by name",
    "queue gone while open",
)
REPORTS = (
    *(f"report {feedback}" for feedback in (258, 259, 260)),
    "report to a dynamic queue",
    "report is a dead letter",
    "report lost",
)
PUBLICATIONS = (
    "publication to several",
    "publication in a unit",
    "retained publication given",
    "retained publication replaced",
    "subscription durable",
    "subscription not durable",
    "subscription resumed",
    "subscription gone",
)
CONSUMERS = (
    "batch asked for",
    "batch claimed",
    "batch claimed to be read",
    "empty batch ends another",
    "batch consumed",
    "batch handed out again",
    "batch of what came back",
    "batch broken up",
    "message found that spoils",
    "what spoils set aside",
    "several set aside at once",
    "what spoils stays",
    "batches grow again",
    "so many batches ahead",
    "claim lost",
    "claim lost of what may be done",
    "old claim refused",
    "claim waits for a page",
    "claim waits for copies",
    "consumer in use",
    "consumer deleted with a batch",
    "expired in a batch",
    "purge beside a batch",
    "snapshot with a batch",
    "crash with a batch",
    "take-over with a batch",
    "consumer in doubt, done",
    "consumer in doubt, not done",
)
DELAYS = ("delivered when it was due", "expired before it was due", "purged while they waited")
MSMQ = (
    "MSMQ message refused by its queue",
    "MSMQ arrival ahead of a cursor",
    "MSMQ abort under a cursor",
    "MSMQ lock conflict",
    "MSMQ message came back to a peek",
    "MSMQ message moved",
    "MSMQ message rejected",
)
GETS = (
    "get cancelled before it was sent",
    "get cancelled under way",
    "get cancelled when it was answered",
    "get cancelled at its commit",
    "get cancelled while the connection is lost",
    "link lost while gets wait",
    "crash while gets wait",
)
STANDBY_TOOK_OVER = "standby took over"
RACE_LOST = "race lost"
STANDBY_FROZEN = "standby frozen"
BEGAN_AGAIN = "standby began again with a snapshot"
LATE_APPEND = "late append of a deposed owner"
STANDBYS = (STANDBY_TOOK_OVER, RACE_LOST, STANDBY_FROZEN, BEGAN_AGAIN, LATE_APPEND)
FAULTS = (
    *filter(None, APPEND_FAULTS),
    *CRASHES,
    *COMMIT_FAULTS,
    *MOVER_CRASHES,
    *TOPIC_FAULTS,
    *OTHER_FAULTS,
    *(TOUCHED, PUT_REFUSED, COMMITS_IN_FLIGHT, CRASH_WITH_COMMITS),
    *STORAGE_FAULTS,
    *FORGERIES,
    *TRIGGERS,
    *GROUPS,
    *DYNAMIC_QUEUES,
    *REPORTS,
    *PUBLICATIONS,
    *CONSUMERS,
    *DELAYS,
    *GETS,
    *MSMQ,
    *STANDBYS,
)
"""All that goes wrong here, and all that becomes of messages, by name; a run of all seeds in which
one never did proves nothing.
"""
