"""Message properties: in handles, and as a header in front of the body."""

import struct
from contextlib import suppress
from typing import Any

import ibmmq
import pytest
from ibmmq import CMQC, ibmmqc

from adapter.testing import TestQueueManager
from tests.mqi.conftest import reason_of

BOTH = CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED
VALUES: list[tuple[str, int, Any]] = [
    ("text", CMQC.MQTYPE_STRING, "Zürich"),
    ("yes", CMQC.MQTYPE_BOOLEAN, True),
    ("bytes", CMQC.MQTYPE_BYTE_STRING, b"\0\1"),
    ("small", CMQC.MQTYPE_INT8, -5),
    ("short", CMQC.MQTYPE_INT16, 1000),
    ("whole", CMQC.MQTYPE_INT32, -100_000),
    ("long", CMQC.MQTYPE_INT64, 2**40),
    ("half", CMQC.MQTYPE_FLOAT32, 0.5),
    ("part", CMQC.MQTYPE_FLOAT64, 0.1),
]


def put_with(qmgr: ibmmq.QueueManager, **properties: str) -> ibmmq.Queue:
    """A queue with a message that has these properties."""
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    handle = ibmmq.MessageHandle(qmgr)
    for name, value in properties.items():
        handle.properties.set(name, value)
    queue.put(b"body", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.msg_handle))
    handle.dlt()
    return queue


def test_properties_of_every_type_arrive(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    handle = ibmmq.MessageHandle(qmgr)
    for name, kind, value in VALUES:
        length = len(value) if isinstance(value, bytes) else CMQC.MQVL_NULL_TERMINATED
        handle.properties.set(name, value, property_type=kind, value_length=length)
    queue.put(b"body", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.msg_handle))
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    assert queue.get(None, ibmmq.MD(), gmo) == b"body"
    assert {name: found.properties.get(name) for name, _, _ in VALUES} == {
        name: value for name, _, value in VALUES
    }


@pytest.mark.parametrize(
    ("kind", "value", "others"),
    [
        ("INT8", 5, ("INT16", "INT32", "INT64")),
        ("INT16", 300, ("INT32", "INT64")),
        ("INT32", 70_000, ("INT64",)),
        ("INT64", 5, ("INT8", "INT16", "INT32")),
        ("INT64", 2**40, ()),
        ("FLOAT32", 0.1, ("FLOAT64",)),
        ("FLOAT64", 0.1, ()),
    ],
)
def test_a_number_that_came_is_inquired_as_every_type_that_it_may_have_been_set_with(
    qmgr: ibmmq.QueueManager, kind: str, value: float, others: tuple[str, ...]
) -> None:
    types = {name: getattr(CMQC, f"MQTYPE_{name}") for name in NUMBER_SIZES}
    handle = ibmmq.MessageHandle(qmgr)
    handle.properties.set("n", value, property_type=types[kind])
    value = handle.properties.get("n")
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"body", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.msg_handle))
    found = ibmmq.MessageHandle(qmgr)
    queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=4, MsgHandle=found.msg_handle))
    for name, number in types.items():
        impo, pd = ibmmq.IMPO().pack(), ibmmq.PD().pack()
        hconn = qmgr.get_handle()
        answer = ibmmqc.MQINQMP(hconn, found.msg_handle, impo, b"n", pd, number, 100)
        if name in (kind, *others):
            expected: tuple[float | None, int] = (value, NUMBER_SIZES[name])
            assert (answer[:2], answer[-1]) == (expected, CMQC.MQRC_NONE), name
        else:
            assert answer[-1] == CMQC.MQRC_PROPERTY_TYPE_ERROR, name


NUMBER_SIZES = {"INT8": 1, "INT16": 2, "INT32": 4, "INT64": 8, "FLOAT32": 4, "FLOAT64": 8}


def test_a_text_that_is_no_text_is_refused_when_it_is_set(qmgr: ibmmq.QueueManager) -> None:
    """And not by the put, whose reason would not say so."""
    handle = ibmmq.MessageHandle(qmgr)
    for value in ("\ud800", "half \udfff"):
        with pytest.raises(UnicodeEncodeError):
            handle.properties.set("text", value)
        with pytest.raises(ibmmq.MQMIError) as refused:
            handle.properties.get("text")
        assert reason_of(refused) == CMQC.MQRC_PROPERTY_NOT_AVAILABLE
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"body", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=handle.msg_handle))


def test_properties_are_walked_through(qmgr: ibmmq.QueueManager) -> None:
    queue = put_with(qmgr, a="1", b="2", c="3")
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    queue.get(None, ibmmq.MD(), gmo)
    seen = [found.properties.get("%")]
    seen += [found.properties.get("%", impo_options=CMQC.MQIMPO_INQ_NEXT) for _ in range(2)]
    assert seen == [("1", "a"), ("2", "b"), ("3", "c")]
    with pytest.raises(ibmmq.MQMIError) as refused:
        found.properties.get("%", impo_options=CMQC.MQIMPO_INQ_NEXT)
    assert reason_of(refused) == CMQC.MQRC_PROPERTY_NOT_AVAILABLE


def test_a_property_can_be_deleted_and_converted(qmgr: ibmmq.QueueManager) -> None:
    handle = ibmmq.MessageHandle(qmgr)
    handle.properties.set("n", 12, property_type=CMQC.MQTYPE_INT32)
    as_text = ibmmq.IMPO(Options=CMQC.MQIMPO_CONVERT_TYPE)
    assert handle.properties.get("n", impo=as_text, property_type=CMQC.MQTYPE_STRING) == "12"
    with pytest.raises(ibmmq.MQMIError) as refused:
        handle.properties.get("n", property_type=CMQC.MQTYPE_STRING)
    assert reason_of(refused) == CMQC.MQRC_PROPERTY_TYPE_ERROR
    handle.properties.dlt("n")
    with pytest.raises(ibmmq.MQMIError) as refused:
        handle.properties.get("n")
    assert reason_of(refused) == CMQC.MQRC_PROPERTY_NOT_AVAILABLE


def rfh2(folder: str) -> bytes:
    """A body as a program writes it that makes its header by itself."""
    text = folder.encode().ljust(-(-len(folder) // 4) * 4)
    fields = (b"RFH ", 2, 40 + len(text), 273, 1208, b"MQSTR   ", 0, 1208, len(text))
    return struct.pack(">4siiii8siii", *fields) + text + b"BODY"


def put_as_rfh2(queue: ibmmq.Queue, folder: str) -> None:
    queue.put(rfh2(folder), ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2, Encoding=273))


def test_a_get_without_a_length_takes_a_message_with_a_long_folder(
    qmgr: ibmmq.QueueManager,
) -> None:
    """The package asks again with the length that it is told, which has to be enough."""
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    put_as_rfh2(queue, f"<usr><long>{'x' * 5_000}</long></usr>")
    handle = ibmmq.MessageHandle(qmgr)
    options = CMQC.MQGMO_PROPERTIES_IN_HANDLE
    asked = ibmmq.GMO(Version=4, Options=options, MsgHandle=handle.msg_handle)
    assert queue.get(None, ibmmq.MD(), asked) == b"BODY"
    assert handle.properties.get("long", max_value_length=5_000) == "x" * 5_000
    put_as_rfh2(queue, f"<usr><long>{'x' * 50_000}</long></usr>")
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES)) == b"BODY"


@pytest.mark.parametrize("written", ["9223372036854775808", "-9223372036854775809", "9" * 5_000])
def test_a_number_in_a_header_that_is_too_long_is_a_text(
    qmgr: ibmmq.QueueManager, written: str
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    put_as_rfh2(queue, f'<usr><n dt="i8">{written}</n></usr>')
    handle = ibmmq.MessageHandle(qmgr)
    asked = ibmmq.GMO(Version=4, MsgHandle=handle.msg_handle)
    assert queue.get(10_000, ibmmq.MD(), asked) == b"BODY"
    assert handle.properties.get("n", max_value_length=5_000) == written


@pytest.mark.parametrize("count", [257, 1_001, 5_000])
def test_too_many_properties(qmgr: ibmmq.QueueManager, count: int) -> None:
    """The connection and its unit of work go on."""
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_OUTPUT | CMQC.MQOO_INPUT_SHARED)
    queue.put("first", ibmmq.MD(), ibmmq.PMO(Options=CMQC.MQPMO_SYNCPOINT))
    handle = ibmmq.MessageHandle(qmgr)
    for number in range(count):
        handle.properties.set(f"p{number}", "v")
    options = CMQC.MQPMO_SYNCPOINT
    pmo = ibmmq.PMO(Version=3, Options=options, OriginalMsgHandle=handle.msg_handle)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put("second", ibmmq.MD(), pmo)
    assert reason_of(refused) == CMQC.MQRC_PROPERTIES_TOO_BIG
    qmgr.commit()
    assert queue.get() == b"first"


def test_a_value_that_does_not_fit_tells_its_length(qmgr: ibmmq.QueueManager) -> None:
    handle = ibmmq.MessageHandle(qmgr)
    handle.properties.set("long", "x" * 100)
    with pytest.raises(ibmmq.MQMIError) as refused:
        handle.properties.get("long")
    assert reason_of(refused) == CMQC.MQRC_PROPERTY_VALUE_TOO_BIG
    assert refused.value.data_length == 100
    assert handle.properties.get("long", max_value_length=100) == "x" * 100


def test_without_a_handle_properties_stand_before_the_body(qmgr: ibmmq.QueueManager) -> None:
    queue = put_with(qmgr, colour="blue & <green>")
    headers: list[ibmmq.RFH2] = []
    md = ibmmq.MD()
    assert queue.get_rfh2(None, md, ibmmq.GMO(), headers) == b"body"
    assert md.Format == CMQC.MQFMT_RF_HEADER_2
    assert b"<colour>blue &amp; &lt;green&gt;</colour>" in headers[0]["usr"]


def test_properties_can_be_left_out(qmgr: ibmmq.QueueManager) -> None:
    queue = put_with(qmgr, colour="blue")
    md = ibmmq.MD()
    assert queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES)) == b"body"
    assert md.Format.strip() == b""


def test_a_header_that_a_program_puts_stays_as_it_is(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    header = ibmmq.RFH2()
    header["Format"] = CMQC.MQFMT_STRING
    header.add_folder(b"<mine><a>1</a></mine>")
    queue.put_rfh2(b"body", ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2), ibmmq.PMO(), [header])
    headers: list[ibmmq.RFH2] = []
    assert queue.get_rfh2(None, ibmmq.MD(), ibmmq.GMO(), headers) == b"body"
    assert headers[0]["mine"].strip() == b"<mine><a>1</a></mine>"


def test_messages_are_selected_by_their_properties(qmgr: ibmmq.QueueManager) -> None:
    put_with(qmgr, colour="red").close()
    put_with(qmgr, colour="blue").close()
    selected = ibmmq.OD(ObjectName="ORDERS")
    selected.set_vs("SelectionString", "colour = 'blue'")
    queue = ibmmq.Queue(qmgr, selected, CMQC.MQOO_INPUT_SHARED)
    assert selected.get_vs("SelectionString") == b"colour = 'blue'"
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    assert queue.get(None, ibmmq.MD(), gmo) == b"body"
    assert found.properties.get("colour") == "blue"
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.get(None, ibmmq.MD(), gmo)
    assert reason_of(refused) == CMQC.MQRC_NO_MSG_AVAILABLE


def test_a_selection_that_is_none(qmgr: ibmmq.QueueManager) -> None:
    selected = ibmmq.OD(ObjectName="ORDERS")
    selected.set_vs("SelectionString", "colour = = 'blue'")
    with pytest.raises(ibmmq.MQMIError) as refused:
        ibmmq.Queue(qmgr, selected, CMQC.MQOO_INPUT_SHARED)
    assert reason_of(refused) in (
        CMQC.MQRC_SELECTOR_SYNTAX_ERROR,
        CMQC.MQRC_SELECTION_STRING_ERROR,
    )


@pytest.mark.parametrize("name", ["", "Root.MQMD.Priority", "two words", "ends."])
def test_names_that_are_none(qmgr: ibmmq.QueueManager, name: str) -> None:
    handle = ibmmq.MessageHandle(qmgr)
    with pytest.raises(ibmmq.MQMIError) as refused:
        handle.properties.set(name, "x")
    assert reason_of(refused) == CMQC.MQRC_PROPERTY_NAME_ERROR


def test_a_handle_that_was_deleted_is_none(qmgr: ibmmq.QueueManager) -> None:
    handle = ibmmq.MessageHandle(qmgr)
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    number = handle.msg_handle
    handle.dlt()
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put(b"body", ibmmq.MD(), ibmmq.PMO(OriginalMsgHandle=number))
    assert reason_of(refused) == CMQC.MQRC_HMSG_ERROR


def with_header(*folders: bytes) -> bytes:
    header = ibmmq.RFH2(Encoding=CMQC.MQENC_NATIVE, CodedCharSetId=1208, Format=CMQC.MQFMT_STRING)
    for folder in folders:
        header.add_folder(folder)
    return bytes(header.pack(encoding=CMQC.MQENC_NATIVE)) + b"body"


@pytest.mark.parametrize("other", [(), (b"<mcd><Msd>jms_text</Msd></mcd>",)])
def test_the_folder_usr_of_a_header_that_a_program_writes_are_properties(
    qmgr: ibmmq.QueueManager, other: tuple[bytes, ...]
) -> None:
    usr = b"<usr><colour>blue</colour><count dt='i4'>5</count></usr>"
    whole = with_header(*other, usr)
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    for _ in range(3):
        queue.put(whole, ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2))
    md = ibmmq.MD()
    assert queue.get(None, md) == whole, "as it was put"
    assert md.Format == CMQC.MQFMT_RF_HEADER_2
    selected = ibmmq.OD(ObjectName="ORDERS", Version=CMQC.MQOD_VERSION_4)
    selected.set_vs("SelectionString", "colour = 'blue' AND count > 4")
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    md = ibmmq.MD()
    body = ibmmq.Queue(qmgr, selected, CMQC.MQOO_INPUT_SHARED).get(None, md, gmo)
    assert (found.properties.get("colour"), found.properties.get("count")) == ("blue", 5)
    assert body == (with_header(*other) if other else b"body")
    assert md.Format == (CMQC.MQFMT_RF_HEADER_2 if other else CMQC.MQFMT_STRING)
    none = ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES)
    assert queue.get(None, ibmmq.MD(), none) == b"body"


@pytest.mark.parametrize("other", [(), (b"<mine><a>1</a></mine>",)])
def test_finding_mq_6_without_properties_the_folders_of_jms_are_removed(
    qmgr: ibmmq.QueueManager, other: tuple[bytes, ...]
) -> None:
    """What a program of JMS wrote is no part of the body to one that wants no properties."""
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    of_jms = (b"<mcd><Msd>jms_text</Msd></mcd>", b"<jms><Dst>queue:///Q</Dst></jms>")
    queue.put(with_header(*of_jms, *other), ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2))
    md = ibmmq.MD()
    body = queue.get(None, md, ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES))
    assert body == (with_header(*other) if other else b"body")
    assert md.Format == (CMQC.MQFMT_RF_HEADER_2 if other else CMQC.MQFMT_STRING)


@pytest.mark.parametrize("broken", [b"RFH \2", b"RFH " + b"\xff" * 60, b"<usr>", b""])
def test_a_header_that_cannot_be_read_stays_as_it_is(
    qmgr: ibmmq.QueueManager, broken: bytes
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(broken, ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2))
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    assert queue.get(None, ibmmq.MD(), gmo) == broken


@pytest.mark.parametrize(
    ("control", "in_header", "with_handle"),
    [
        ("NONE", False, b"body"),
        ("COMPAT", True, b"body"),
        ("V6COMPAT", True, b"body"),
        ("ALL", True, b"body"),
        ("FORCE", True, b"RFH "),
    ],
)
def test_finding_mq_propctl_says_how_properties_reach_programs_that_do_not_say(
    manager: TestQueueManager,
    qmgr: ibmmq.QueueManager,
    control: str,
    in_header: bool,
    with_handle: bytes,
) -> None:
    manager.mqsc(f"ALTER QLOCAL(ORDERS) PROPCTL({control})")
    queue = put_with(qmgr, colour="blue")
    put_with(qmgr, colour="blue")
    put_with(qmgr, colour="blue")
    md = ibmmq.MD()
    body = queue.get(None, md, ibmmq.GMO())
    assert body.endswith(b"body")
    assert (b"<colour>blue</colour>" in body) is in_header
    assert (md.Format == CMQC.MQFMT_RF_HEADER_2) is in_header
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Version=CMQC.MQGMO_VERSION_4, MsgHandle=found.msg_handle)
    assert queue.get(None, ibmmq.MD(), gmo)[:4] == with_handle[:4]
    plain = ibmmq.GMO(Options=CMQC.MQGMO_NO_PROPERTIES)
    assert queue.get(None, ibmmq.MD(), plain) == b"body"


COMPATIBLE = ("", "usr.", "mcd.", "jms.", "mqext.")


@pytest.mark.parametrize("folder", [*COMPATIBLE, "shop.", "mqk.", "mq_usr."])
@pytest.mark.parametrize("control", ["COMPAT", "V6COMPAT", "ALL", "FORCE"])
def test_only_folders_that_programs_have_always_had_are_compatible(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, control: str, folder: str
) -> None:
    """Else a program that knows no properties gets the body as it was put."""
    manager.mqsc(f"ALTER QLOCAL(ORDERS) PROPCTL({control})")
    with manager.connect() as connected:
        for more in ({}, {"colour": "blue"}):
            properties = {f"{folder}x": "1", **more}
            connected.put("ORDERS", b"body", format="MQSTR", properties=properties)
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED)
    md = ibmmq.MD()
    body = queue.get(None, md)
    if control in ("ALL", "FORCE") or folder in COMPATIBLE:
        assert (b"<x>1</x>" in body, md.Format) == (True, CMQC.MQFMT_RF_HEADER_2)
    else:
        assert (body, md.Format) == (b"body", CMQC.MQFMT_STRING)
    assert b"<x>1</x>" in queue.get(), "with one of those folders all of them come"


def test_what_was_moved_comes_as_it_was_put(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    moves = "BOTHRESH(1) BOQNAME(FAILED) BOACTION(MOVE)"
    manager.mqsc(f"DEFINE QLOCAL(FAILED)\nALTER QLOCAL(ORDERS) {moves}")
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    queue.put(b"body", ibmmq.MD(Format=CMQC.MQFMT_STRING))
    queue.get(None, ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_SYNCPOINT))
    qmgr.backout()
    md, wait = ibmmq.MD(), ibmmq.GMO(Options=CMQC.MQGMO_WAIT, WaitInterval=30_000)
    moved = ibmmq.Queue(qmgr, "FAILED", CMQC.MQOO_INPUT_SHARED)
    assert (moved.get(None, md, wait), md.Format) == (b"body", CMQC.MQFMT_STRING)


WAYS = {
    "AS_Q_DEF": CMQC.MQGMO_PROPERTIES_AS_Q_DEF,
    "IN_HANDLE": CMQC.MQGMO_PROPERTIES_IN_HANDLE,
    "NO": CMQC.MQGMO_NO_PROPERTIES,
    "FORCE": CMQC.MQGMO_PROPERTIES_FORCE_MQRFH2,
    "COMPAT": CMQC.MQGMO_PROPERTIES_COMPATIBILITY,
}
HEADER, HANDLE, NOWHERE, REFUSED = "header", "handle", "nowhere", "refused"


def where_expected(way: str, control: str, has_handle: bool) -> str:
    """Where the manual says that properties go."""
    if way == "IN_HANDLE":
        return HANDLE if has_handle else REFUSED
    if way == "AS_Q_DEF" and has_handle and control != "FORCE":
        return HANDLE
    if way == "NO" or (way == "AS_Q_DEF" and control == "NONE"):
        return NOWHERE
    return HEADER


@pytest.mark.parametrize("control", ["NONE", "COMPAT", "V6COMPAT", "ALL", "FORCE"])
def test_where_properties_go(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager, control: str
) -> None:
    """A handle that is not filled keeps what it holds, and need not be there at all."""
    manager.mqsc(f"ALTER QLOCAL(ORDERS) PROPCTL({control})")
    for way, option in WAYS.items():
        for has_handle in (True, False):
            expected = where_expected(way, control, has_handle)
            found = ibmmq.MessageHandle(qmgr)
            found.properties.set("old", "x")
            number = found.msg_handle if has_handle else CMQC.MQHM_NONE
            assert way_of(qmgr, option, number, found) == expected, (way, has_handle)
            if has_handle and expected in (HEADER, NOWHERE):
                assert way_of(qmgr, option, 987_654, found) == expected, way


def way_of(qmgr: ibmmq.QueueManager, option: int, number: int, handle: ibmmq.MessageHandle) -> str:
    """Where the properties of a message go, by what a get asks."""
    queue = put_with(qmgr, colour="blue")
    try:
        body = queue.get(None, ibmmq.MD(), ibmmq.GMO(Version=4, Options=option, MsgHandle=number))
    except ibmmq.MQMIError as error:
        queue.get()
        return REFUSED if error.reason == CMQC.MQRC_HMSG_ERROR else str(error)
    names = []
    for name in ("colour", "old"):
        with suppress(ibmmq.MQMIError):
            handle.properties.get(name)
            names.append(name)
    if names == ["colour"]:
        assert body == b"body"
        return HANDLE
    assert names == ["old"]
    return HEADER if b"<colour>blue</colour>" in body else NOWHERE


def test_finding_mq_propctl_of_an_alias_holds_for_its_name(
    manager: TestQueueManager, qmgr: ibmmq.QueueManager
) -> None:
    manager.mqsc("DEFINE QALIAS(SAME) TARGET(ORDERS) PROPCTL(NONE)")
    put_with(qmgr, colour="blue")
    queue = ibmmq.Queue(qmgr, "SAME", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_INQUIRE)
    assert queue.get(None, ibmmq.MD(), ibmmq.GMO()) == b"body"
    assert queue.inquire(CMQC.MQIA_PROPERTY_CONTROL) == CMQC.MQPROP_NONE


def test_a_damaged_folder_is_warned_of(manager: TestQueueManager, qmgr: ibmmq.QueueManager) -> None:
    """A get with a message handle: what could not be read stays in the body."""
    damaged = b"<usr><a>1</b></usr>  "
    header = ibmmq.RFH2(Format=CMQC.MQFMT_STRING, Encoding=CMQC.MQENC_NATIVE, CodedCharSetId=1208)
    packed = header.pack()
    length = struct.pack("<i", len(damaged))
    whole = packed[:8] + struct.pack("<i", len(packed) + 4 + len(damaged)) + packed[12:]
    queue = ibmmq.Queue(qmgr, "ORDERS", CMQC.MQOO_INPUT_SHARED | CMQC.MQOO_OUTPUT)
    md = ibmmq.MD(Format=CMQC.MQFMT_RF_HEADER_2, Encoding=CMQC.MQENC_NATIVE, CodedCharSetId=1208)
    queue.put(whole + length + damaged + b"body", md)
    hconn = qmgr.get_handle()
    hmsg = ibmmqc.MQCRTMH(hconn, ibmmq.CMHO().pack())[0]
    gmo = ibmmq.GMO(Version=4, MsgHandle=hmsg, Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE)
    answer = ibmmqc.MQGET(hconn, queue.get_handle(), ibmmq.MD().pack(), gmo.pack(), 1000)
    assert answer[-2:] == (CMQC.MQCC_WARNING, CMQC.MQRC_RFH_FORMAT_ERROR)
    assert damaged in answer[0]


@pytest.mark.parametrize(
    ("action", "arrive"),
    [
        (CMQC.MQACTP_NEW, {"of": "new", "old": "1", "fresh": "2"}),
        (CMQC.MQACTP_FORWARD, {"of": "new", "old": "1", "fresh": "2"}),
        (CMQC.MQACTP_REPORT, {"of": "new", "old": "1", "fresh": "2"}),
        (CMQC.MQACTP_REPLY, {"of": "new", "fresh": "2"}),
    ],
)
def test_what_a_message_is_to_another_says_which_properties_it_has(
    qmgr: ibmmq.QueueManager, action: int, arrive: dict[str, str]
) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    handles = []
    for properties in ({"of": "original", "old": "1"}, {"of": "new", "fresh": "2"}):
        handles.append(ibmmq.MessageHandle(qmgr))
        for name, value in properties.items():
            handles[-1].properties.set(name, value)
    original, new = (one.msg_handle for one in handles)
    pmo = ibmmq.PMO(Version=3, OriginalMsgHandle=original, NewMsgHandle=new, Action=action)
    queue.put(b"body", ibmmq.MD(), pmo)
    found = ibmmq.MessageHandle(qmgr)
    gmo = ibmmq.GMO(Options=CMQC.MQGMO_PROPERTIES_IN_HANDLE, MsgHandle=found.msg_handle)
    queue.get(None, ibmmq.MD(), gmo)
    got = {}
    for name in ("of", "old", "fresh"):
        with suppress(ibmmq.MQMIError):
            got[name] = found.properties.get(name)
    assert got == arrive


def test_an_action_that_is_none_is_refused(qmgr: ibmmq.QueueManager) -> None:
    queue = ibmmq.Queue(qmgr, "ORDERS", BOTH)
    with pytest.raises(ibmmq.MQMIError) as refused:
        queue.put(b"body", ibmmq.MD(), ibmmq.PMO(Version=3, Action=99))
    assert reason_of(refused) == CMQC.MQRC_ACTION_ERROR
