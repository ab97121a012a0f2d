"""Parameters taken out of a request, and objects as parameters of a reply."""

import pytest

from adapter.administration import authorities, channel_rules, without_effect
from adapter.administration.kinds import DEFINED, FoundObject
from adapter.administration.pcf.arguments import Arguments, reply_of
from adapter.administration.pcf.structures import (
    Bytes,
    CommandHeader,
    FilterParameter,
    GroupParameter,
    Integer,
    Integers,
    Parameter,
    PcfError,
    String,
    Strings,
    encode,
)
from adapter.administration.status_kinds import CONNECTION

QLOCAL = DEFINED["QLOCAL"]


def reason_of(parameters: list[Parameter]) -> int:
    """Why the rest of a request is refused."""
    with pytest.raises(PcfError) as caught:
        Arguments(parameters).attributes(QLOCAL)
    return caught.value.reason


def test_what_is_asked_for_is_taken_once() -> None:
    given = Arguments([String(2016, "A"), Integer(20, 1), Bytes(7006, b"x")])
    assert (given.text(2016), given.whole(20), given.data(7006)) == ("A", 1, b"x")
    given.finish()
    assert (given.text(2016, "none"), given.whole(20, 7), given.data(7006)) == ("none", 7, b"")


def test_what_is_needed_and_missing_has_a_reason() -> None:
    with pytest.raises(PcfError) as caught:
        Arguments([]).text(2016)
    assert (caught.value.reason, caught.value.parameter) == (3019, 2016)
    with pytest.raises(PcfError):
        Arguments([]).whole(20)


@pytest.mark.parametrize("take", ["text", "whole", "data"])
def test_a_parameter_is_of_its_own_kind(take: str) -> None:
    given = Arguments([Integers(2016, (1,))])
    with pytest.raises(PcfError) as caught:
        getattr(given, take)(2016)
    assert caught.value.reason == 3013


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        (Integer(99, 1), 3014),
        (String(99, "x"), 3015),
        (Integers(99, (1,)), 3047),
        (Strings(99, ("x",)), 3047),
        (Bytes(99, b"x"), 3256),
        (GroupParameter(99, ()), 3240),
        (FilterParameter(15, 2, 1), 3243),
        (Integer(3, 1), 3014),
        (Integer(15, -1), 0),
        (Integer(10, 2), 4005),
        (String(15, "5"), 4005),
        (Integer(2013, 5), 4005),
    ],
)
def test_what_nobody_takes_is_refused(parameter: Parameter, reason: int) -> None:
    if reason:
        assert reason_of([parameter]) == reason
    else:  # its bounds are the queue manager's business
        assert Arguments([parameter]).attributes(QLOCAL) == {"max_depth": -1}


def test_a_parameter_comes_once() -> None:
    for twice, reason in ((Integer(15, 1), 3017), (String(2013, "x"), 3018)):
        with pytest.raises(PcfError) as caught:
            Arguments([twice, twice])
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ([], None),
        ([Integers(1002, (2016, 15))], frozenset((2016, 15))),
        ([Integers(1002, (1009,))], None),
        ([Integers(1002, (15, 1009))], None),
        ([Integer(1002, 15)], frozenset((15,))),
    ],
)
def test_selectors(parameters: list[Parameter], expected: frozenset[int] | None) -> None:
    assert Arguments(parameters).selectors(1002) == expected


def test_selectors_are_numbers() -> None:
    with pytest.raises(PcfError) as caught:
        Arguments([Strings(1002, ("DESCR",))]).selectors(1002)
    assert (caught.value.reason, caught.value.parameter) == (3013, 1002)


TABLES = (
    *(channel_rules.RULE, channel_rules.SHOWN, authorities.RECORD, authorities.SECURITY),
    *(without_effect.LISTENER, without_effect.STOPPING, without_effect.IGNORE_STATE),
)


def test_what_is_one_value_is_refused_as_none_and_as_two() -> None:
    for table in TABLES:
        for row in table.values():
            number, is_text = row.attribute.number, row.type is str and not row.choices
            if not number or row.name in without_effect.LISTS:
                continue
            for count in (0, 2):
                several = (
                    Strings(number, ("1",) * count) if is_text else Integers(number, (1,) * count)
                )
                with pytest.raises(PcfError) as caught:
                    Arguments([several]).check(table)
                assert (caught.value.reason, caught.value.parameter) == (3013, number)


def test_yes_and_no_are_1_and_0() -> None:
    replace = without_effect.LISTENER["REPLACE"].attribute.number
    assert Arguments([Integer(replace, 1)]).check(without_effect.LISTENER) == {"REPLACE": [True]}
    with pytest.raises(PcfError) as caught:
        Arguments([Integer(replace, 2)]).check(without_effect.LISTENER)
    assert caught.value.reason == 4005


def test_an_attribute_may_select_objects_like_a_filter() -> None:
    given = Arguments([Integer(12, 1), FilterParameter(3, 4, 0)])
    filters = given.filters(QLOCAL)
    assert [(one.row.name, one.operator, one.want) for one in filters] == [
        ("current_depth", 4, 0),
        ("usage", 2, 1),
    ]
    given.finish()


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([FilterParameter(9999, 2, 1)], 3243),
        ([FilterParameter(15, 99, 1)], 3242),
        ([FilterParameter(2013, 4, 1)], 3242),
        ([FilterParameter(2013, 10, "x")], 3246),
        ([FilterParameter(2013, 2, b"x")], 3265),
        ([FilterParameter(15, 2, 1), FilterParameter(3, 2, 1)], 3248),
    ],
)
def test_a_filter_that_is_none_has_a_reason(conditions: list[Parameter], reason: int) -> None:
    with pytest.raises(PcfError) as caught:
        Arguments(conditions).filters(QLOCAL)
    assert caught.value.reason == reason


def test_a_reply_has_name_and_type_and_what_is_asked_for() -> None:
    values: dict[str, object] = {"description": "d", "names": "A,B", "name_count": 2}
    found = FoundObject(DEFINED["NAMELIST"], "N", values)
    assert reply_of(found, None) == [
        String(2010, "N", 48),
        String(2027, "", 12),
        String(2028, "", 8),
        Integer(19, 2),
        String(2009, "d", 64),
        Strings(2020, ("A", "B"), 48),
        Integer(72, 0),
    ]
    assert reply_of(found, frozenset((2009,))) == [String(2010, "N", 48), String(2009, "d", 64)]
    names = Strings(2020, ("A", "B"), 48)
    assert reply_of(found, frozenset((2020,))) == [String(2010, "N", 48), Integer(19, 2), names]
    assert reply_of(found, frozenset((19,))) == [String(2010, "N", 48), Integer(19, 2)]
    channel = FoundObject(DEFINED["CHANNEL"], "C", {"channel_type": "SVRCONN", "mca_user": "x"})
    assert reply_of(channel, frozenset()) == [String(3501, "C", 20), Integer(1511, 7)]
    queue = FoundObject(DEFINED["QREMOTE"], "R", {"queue_type": "QREMOTE", "inhibit_put": True})
    assert reply_of(queue, frozenset((10,))) == [
        String(2016, "R", 48),
        Integer(20, 6),
        Integer(10, 1),
    ]


def test_a_connection_is_named_by_its_bytes() -> None:
    values: dict[str, object] = {"extended_id": b"MQK QM1".ljust(16).hex(), "info_type": "CONN"}
    found = FoundObject(CONNECTION, "00000000000000FF", values)
    assert reply_of(found, frozenset()) == [
        Bytes(7006, b"MQK QM1         \0\0\0\0\0\0\0\xff"),
        Integer(1110, 1111),
    ]


def test_a_figure_that_no_reply_holds_is_shown_as_the_greatest() -> None:
    for row in DEFINED["QLOCAL"].every_row.values():
        if row.type is int and not row.choices and row.attribute.number:
            found = FoundObject(QLOCAL, "A", {"queue_type": "QLOCAL", row.name: 2**40})
            reply = reply_of(found, frozenset({row.attribute.number}))
            assert Integer(row.attribute.number, 2**31 - 1) in reply
            encode(CommandHeader(command=13), reply)
