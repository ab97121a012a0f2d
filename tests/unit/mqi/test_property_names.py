"""Names that MQSETMP takes, and those that a wildcard of MQINQMP fits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter import mq_constants as mq
from adapter.mqi import property_names
from adapter.mqi.message_handles import MessageHandles
from adapter.mqi.property_names import OF_JMS, SYNONYMS
from adapter.mqi.reasons import MqiFailure
from adapter.mqi.rfh2 import with_properties
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("name", "short"),
    [
        ("colour", "colour"),
        ("usr.colour", "colour"),
        ("_a$1", "_a$1"),
        ("größe", "größe"),
        ("shop.order.number", "shop.order.number"),
        ("a.1b", "a.1b"),
        ("mq_usr.a.b", "mq_usr.a.b"),
        ("mq.a", "mq.a"),
        ("JMSType", "JMSType"),
        ("NOTE", "NOTE"),
    ],
)
def test_names_that_may_be_set(name: str, short: str) -> None:
    assert property_names.to_set(name, ()) == short


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            "1a",
            ".a",
            "a.",
            "a..b",
            "usr.",
            "a b",
            "a<b",
            "a=b",
            "x/y",
            "a-b",
            "a'b",
            "%",
            "a%",
        ),
        *("NOT", "null", "usr.Between", "JMSFoo", "usr.JMSFoo", "Root.MQMD.X", "Body.a"),
        *("mq.a.b", "MQx.a.b", "x>1</x><y", "\U0001f600", "a\tb"),
    ],
)
def test_names_that_may_not_be_set(name: str) -> None:
    with pytest.raises(MqiFailure) as refused:
        property_names.to_set(name, ())
    assert refused.value.reason == mq.MQRC_PROPERTY_NAME_ERROR


@pytest.mark.parametrize(("name", "known"), [("a.b", "a.b.c"), ("a.b.c", "a.b"), ("a", "a.b")])
def test_a_name_below_another_one(name: str, known: str) -> None:
    with pytest.raises(MqiFailure) as refused:
        property_names.to_set(name, [known])
    assert refused.value.reason == mq.MQRC_MIXED_CONTENT_NOT_ALLOWED
    assert property_names.to_set(f"x{name}", [known]) == f"x{name}"


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("%", ["abc", "abd", "x", "jms.a.b", "content-type"]),
        ("usr.%", ["abc", "abd", "x", "content-type"]),
        ("ab%", ["abc", "abd"]),
        ("usr.ab%", ["abc", "abd"]),
        ("jms%", ["jms.a.b"]),
        ("jms.%", ["jms.a.b"]),
        ("x%", ["x"]),
        ("x", ["x"]),
        ("usr.x", ["x"]),
        ("content-type", ["content-type"]),
        ("y%", []),
    ],
)
def test_a_wildcard_fits_what_begins_so(wanted: str, found: list[str]) -> None:
    names = ["abc", "abd", "x", "jms.a.b", "content-type"]
    assert property_names.fitting(names, wanted) == found


def test_a_wildcard_stands_at_the_end() -> None:
    with pytest.raises(MqiFailure) as refused:
        property_names.fitting(["a"], "%a")
    assert refused.value.reason == mq.MQRC_PROPERTY_NAME_ERROR


STEPS = st.lists(st.sampled_from(["next", "delete", "set a", "set b", "delete a"]), max_size=12)


@given(STEPS)
@settings(max_examples=examples(200))
def test_the_next_one_is_behind_the_cursor_whatever_is_deleted(steps: list[str]) -> None:
    """Each property that is there is found once, in its order."""
    handles = MessageHandles()
    number = handles.create(1)
    there = ["a", "b", "c", "d"]
    for name in there:
        handles.set(1, number, name, mq.MQTYPE_STRING, name)
    behind: list[str] = list(there)  # what the next ones are
    cursor: str | None = None
    for step in steps:
        verb, _, name = step.partition(" ")
        if verb == "set":
            handles.set(1, number, name, mq.MQTYPE_STRING, name)
            if name not in there:
                there.append(name)
                behind.append(name)
        elif verb == "delete":
            gone = name or cursor
            if gone in there:
                handles.unset(1, number, name, under_cursor=not name)
                there.remove(gone)
            else:
                with pytest.raises(MqiFailure):
                    handles.unset(1, number, name, under_cursor=not name)
            behind = [one for one in behind if one != gone]
            cursor = None if cursor == gone else cursor
        elif behind:
            cursor = behind.pop(0)
            assert handles.find(1, number, "%", mq.MQIMPO_INQ_NEXT)[0] == cursor
        else:
            with pytest.raises(MqiFailure):
                handles.find(1, number, "%", mq.MQIMPO_INQ_NEXT)


def test_another_name_begins_at_the_first() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    for name in ("a1", "b1", "a2"):
        handles.set(1, number, name, mq.MQTYPE_STRING, name)
    following = mq.MQIMPO_INQ_NEXT
    assert handles.find(1, number, "b%", following)[0] == "b1"
    assert handles.find(1, number, "a%", following)[0] == "a1"
    assert handles.find(1, number, "a%", following)[0] == "a2"


@pytest.mark.parametrize("options", [1 << 20, mq.MQIMPO_INQ_NEXT | mq.MQIMPO_INQ_PROP_UNDER_CURSOR])
def test_options_that_are_unknown_or_exclude_each_other(options: int) -> None:
    handles = MessageHandles()
    number = handles.create(1)
    with pytest.raises(MqiFailure) as refused:
        handles.find(1, number, "%", options)
    assert refused.value.reason == mq.MQRC_OPTIONS_ERROR


@pytest.mark.parametrize(("name", "other"), SYNONYMS.items())
def test_a_property_is_one_under_both_of_its_names(name: str, other: str) -> None:
    handles = MessageHandles()
    number = handles.create(1)
    kind = mq.MQTYPE_INT32 if "Seq" in name + other else mq.MQTYPE_STRING
    for said, value in ((name, 7), (other, 8)):
        handles.set(1, number, said, kind, value)
        (kept,) = handles.get(number, 1).properties.items()
        assert (kept[0], int(str(kept[1].value))) == (name, value)
    folder = next(one for one in (name, other) if "." in one).partition(".")[0]
    for wanted in (name, other, "%", f"{folder}.%"):
        assert handles.find(1, number, wanted, 0)[0] == name
    handles.unset(1, number, other, under_cursor=False)
    assert not handles.get(number, 1).properties


def test_a_header_says_a_topic_once() -> None:
    handles = MessageHandles()
    number = handles.create(1)
    for name in ("mqps.Top", "MQTopicString"):
        handles.set(1, number, name, mq.MQTYPE_STRING, "a/b")
    properties = handles.properties_to_put(1, number, 0)
    md = {"Format": b"MQSTR   ", "Encoding": 546, "CodedCharSetId": 1208}
    assert with_properties(md, properties or {}, b"").count(b"<Top>") == 1


@pytest.mark.parametrize("name", sorted(OF_JMS))
def test_a_property_of_jms_has_its_type(name: str) -> None:
    handles = MessageHandles()
    wrong = mq.MQTYPE_STRING if name == "JMSXGroupSeq" else mq.MQTYPE_INT32
    with pytest.raises(MqiFailure) as refused:
        handles.set(1, handles.create(1), name, wrong, 1)
    assert refused.value.reason == mq.MQRC_PROPERTY_TYPE_ERROR
