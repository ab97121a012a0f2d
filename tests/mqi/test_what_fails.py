"""A verb that fails, or raises, leaves the queue manager as it was: queues, units, subscriptions.

Every argument of every verb that could change something is made wrong in all the ways there are:
handles, options, versions, structures, lengths, character sets, and Python's own types. A warning
is no failure, but one that says that a message stays (2080) is held to it.
"""

import random
from collections.abc import Callable, Iterator
from typing import Any

import ibmmq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ibmmq import CMQC, ibmmqc

import adapter.testing
from adapter.client.connection import Connection
from adapter.mqi import structs
from adapter.testing import TestQueueManager
from tests.mqi.conftest import CHANNEL, conname
from tests.support.examples import examples

EVERYTHING = CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_BROWSE | CMQC.MQOO_OUTPUT | CMQC.MQOO_SET
QUEUES = ("ORDERS", "REPLIES")
BODIES = ["one", "two", "three"]
NO_NUMBERS: list[Any] = ["x", b"x", None, 1.5, 2**31, 2**63, 2**70, -(2**31) - 1, []]
NO_BUFFERS: list[Any] = ["text", None, 5, [], b"", b"short"]
NUMBERS = [-(2**31), -3, -2, -1, 0, 1, 2, 3, 4, 5, 99, 819, 1200, 4711, 2**16, 2**31 - 1]
WAITS = [-(2**31), -2, 0, 1, 5]
"""No unlimited one: a get that is valid may find nothing."""
PREFIX = {"gmo": "MQGMO_", "pmo": "MQPMO_", "sd": "MQSO_"}
NAMES = [b"ORDERS", b"REPLIES", b"ALIAS", b"MODEL", b"NOT THERE", b"NEWS", b"", b"A" * 48]


NARROW = ("GroupStatus", "SegmentStatus", "Segmentation")
"""Fields of one byte."""


def options_of(prefix: str) -> list[int]:
    """The options of a verb, one by one."""
    found = (getattr(CMQC, name) for name in dir(CMQC) if name.startswith(prefix))
    return sorted({one for one in found if isinstance(one, int) and one > 0})


class Site:
    """A queue manager, a program that has an open unit, and an administrator who looks."""

    def __init__(self, manager: TestQueueManager, administrator: Connection) -> None:
        self.administrator = administrator
        for name in QUEUES:
            administrator.define_queue(name)
        administrator.define_object("model", "MODEL")
        administrator.define_object("alias", "ALIAS", target="ORDERS")
        self.qmgr = ibmmq.connect("QM1", CHANNEL, conname(manager))
        self.other = ibmmq.connect("QM1", CHANNEL, conname(manager))
        self.hconn: int = self.qmgr.get_handle()
        self.hobj = self._open("ORDERS", EVERYTHING)
        self.handles = [
            self.hobj,
            self._open("ORDERS", CMQC.MQOO_BROWSE),
            self._open("ORDERS", CMQC.MQOO_OUTPUT),
            self._open("NEWS", CMQC.MQOO_OUTPUT, CMQC.MQOT_TOPIC),
        ]
        deleted = self._message_handle(self.hconn)
        ibmmqc.MQDLTMH(self.hconn, deleted, ibmmq.DMHO().pack())
        self.message_handles = [deleted, self._message_handle(self.other.get_handle()), -1, 999]
        self.own = self._message_handle(self.hconn)

    def _open(self, name: str, options: int, kind: int = CMQC.MQOT_Q) -> int:
        od = ibmmq.OD(ObjectType=kind, ObjectName=name)
        if kind == CMQC.MQOT_TOPIC:
            od = ibmmq.OD(ObjectType=kind, Version=CMQC.MQOD_VERSION_4)
            od.set_vs("ObjectString", name)
        return int(ibmmqc.MQOPEN(self.hconn, od.pack(), options)[0])

    def _message_handle(self, hconn: int) -> int:
        return int(ibmmqc.MQCRTMH(hconn, ibmmq.CMHO().pack())[0])

    def begin(self) -> None:
        """Three messages, and a unit with a put and a get."""
        ibmmqc.MQBACK(self.hconn)
        for name in QUEUES:
            self.administrator.queue(name).purge()
        for body in BODIES:
            self.administrator.put("ORDERS", body, properties={"colour": "red"})
        self.put1("REPLIES", CMQC.MQPMO_SYNCPOINT)

    def put1(self, name: str, options: int) -> None:
        od, pmo = ibmmq.OD(ObjectName=name).pack(), ibmmq.PMO(Options=options).pack()
        assert ibmmqc.MQPUT1(self.hconn, od, ibmmq.MD().pack(), pmo, b"x")[-1] == 0

    def state(self) -> Any:
        """What there is, as others see it."""
        queues = self.administrator.queue_status("*", system=True)
        found = {one.name: (one.current_depth, one.uncommitted) for one in queues}
        subscriptions = self.administrator.objects("subscription", "*")
        bodies = [one.body for one in self.administrator.queue("ORDERS").browse()]
        return found, sorted(one.name for one in subscriptions), bodies

    def end(self) -> None:
        self.qmgr.disconnect()
        self.other.disconnect()


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with adapter.testing.queue_manager("QM1") as manager, manager.connect() as administrator:
        found = Site(manager, administrator)
        yield found
        found.end()


class Attempt:
    """The arguments of a verb as they are right; spoil makes one of them wrong."""

    def __init__(self, site: Site, draw: random.Random) -> None:
        self._site, self._draw = site, draw
        sd = ibmmq.SD(Options=CMQC.MQSO_CREATE | CMQC.MQSO_MANAGED)
        sd.set_vs("ObjectString", "NEWS")
        version = draw.choice([1, 2])
        syncpoint = draw.choice([True, False])
        self._kept = sd  # what its pointers point to
        self._fields = {
            "md": structs.MQMD.read(ibmmq.MD(Version=version).pack()),
            "gmo": structs.MQGMO.read(
                ibmmq.GMO(Version=version, Options=2 if syncpoint else 4).pack()
            ),
            "pmo": structs.MQPMO.read(ibmmq.PMO(Options=2 if syncpoint else 4).pack()),
            "od": structs.MQOD.read(ibmmq.OD(ObjectName="ORDERS").pack()),
            "sd": structs.MQSD.read(sd.pack()),
            "cbd": structs.MQCBD.read(ibmmq.CBD().pack()),
        }
        self._plain = {
            "hconn": site.hconn,
            "hobj": site.hobj,
            "room": 100,
            "body": b"body",
            "options": EVERYTHING,
            "operation": CMQC.MQOP_REGISTER,
        }

    def spoil(self, name: str) -> None:
        """name: of an argument, or of a field of a structure: gmo, gmo.MsgHandle."""
        draw = self._draw
        name, _, field = name.partition(".")
        if name in self._fields and (field or draw.random() < 0.8):
            self._spoil_field(name, self._fields[name], field)
        elif name in self._fields or name == "body":
            self._plain[name] = draw.choice(NO_BUFFERS)
        else:
            handles = self._site.handles if name == "hobj" else []
            self._plain[name] = draw.choice([*handles, *NUMBERS, *NO_NUMBERS])

    def _spoil_field(self, name: str, fields: dict[str, Any], field: str) -> None:
        draw = self._draw
        safe = [one for one in fields if not one.endswith(("Ptr", "Length"))]
        field = field or draw.choice(safe)
        old = fields[field]
        if field == "Options" and name in PREFIX:
            options = options_of(PREFIX[name])
            fields[field] = old | draw.choice(options) | draw.choice([0, *options])
        elif field == "WaitInterval":
            fields[field] = draw.choice(WAITS)
        elif field.endswith("MsgHandle"):
            fields["Version"] = 4 if name == "gmo" else 3
            fields[field] = draw.choice([self._site.own, *self._site.message_handles])
        elif isinstance(old, int):
            numbers = [one for one in NUMBERS if abs(one) < 100] if field in NARROW else NUMBERS
            fields[field] = draw.choice(numbers)
        elif field.endswith("Name"):
            fields[field] = draw.choice(NAMES)
        else:
            fields[field] = draw.choice([b"", b"X", b"X" * len(old), bytes(len(old))])

    def __getitem__(self, name: str) -> Any:
        if name in self._plain:
            return self._plain[name]
        return getattr(structs, f"MQ{name.upper()}").write(self._fields[name])


Call = Callable[[Attempt], Any]
VERBS: dict[str, tuple[Call, str]] = {
    "MQGET": (
        lambda a: ibmmqc.MQGET(a["hconn"], a["hobj"], a["md"], a["gmo"], a["room"]),
        "hconn hobj room md gmo gmo.Options gmo.MsgHandle gmo.MatchOptions gmo.WaitInterval",
    ),
    "MQPUT": (
        lambda a: ibmmqc.MQPUT(a["hconn"], a["hobj"], a["md"], a["pmo"], a["body"]),
        "hconn hobj body md md pmo pmo.Options pmo.Options pmo.NewMsgHandle md.Format",
    ),
    "MQPUT1": (
        lambda a: ibmmqc.MQPUT1(a["hconn"], a["od"], a["md"], a["pmo"], a["body"]),
        "hconn od od.ObjectName body md md pmo pmo.Options pmo.OriginalMsgHandle",
    ),
    "MQOPEN": (
        lambda a: ibmmqc.MQOPEN(a["hconn"], a["od"], a["options"]),
        "hconn od od.ObjectName od.ObjectType options",
    ),
    "MQSUB": (
        lambda a: ibmmqc.MQSUB(a["hconn"], a["sd"], a["hobj"]),
        "hconn sd sd sd.Options sd.Options sd.ObjectName hobj",
    ),
    "MQCB": (
        lambda a: ibmmqc.MQCB(a["hconn"], a["operation"], a["cbd"], a["hobj"], a["md"], a["gmo"]),
        "hconn operation cbd hobj md gmo gmo.Options gmo.MsgHandle",
    ),
}


def attempt(site: Site, verb: str, seed: int, count: int) -> tuple[int, int] | None:
    """Call a verb with arguments of which some are wrong. Its codes; None if it raised."""
    draw = random.Random(seed)
    call, spots = VERBS[verb]
    made = Attempt(site, draw)
    for name in draw.choices(spots.split(), k=count):
        made.spoil(name)
    try:
        answer = call(made)
    except Exception:  # noqa: BLE001 -- that of a C function: of whatever type
        return None
    code, reason = answer[-2:]
    return code, reason


STAYS = (CMQC.MQRC_TRUNCATED_MSG_FAILED,)


@given(st.sampled_from(sorted(VERBS)), st.integers(0, 2**32), st.integers(1, 3))
@settings(max_examples=examples(400))
def test_a_verb_that_fails_changes_nothing(site: Site, verb: str, seed: int, count: int) -> None:
    site.begin()
    before = site.state()
    codes = attempt(site, verb, seed, count)
    assert codes is None or codes[1] != CMQC.MQRC_UNEXPECTED_ERROR
    if codes is None or codes[0] == CMQC.MQCC_FAILED or codes[1] in STAYS:
        assert site.state() == before
    assert ibmmqc.MQBACK(site.hconn) == (CMQC.MQCC_OK, CMQC.MQRC_NONE)
