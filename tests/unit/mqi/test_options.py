"""Options: what is taken, what is refused with which code, and what excludes what."""

import pytest

from adapter import mq_constants as mq
from adapter.mqi import options
from adapter.mqi.options import Option, OptionTable
from adapter.mqi.reasons import MqiFailure
from tests.support.each import each

TABLES = {
    "CONNECT": options.CONNECT,
    "OPEN": options.OPEN,
    "CLOSE": options.CLOSE,
    "PUT": options.PUT,
    "PUT1": options.PUT1,
    "GET": options.GET,
    "MATCH": options.MATCH,
    "CREATE_HANDLE": options.CREATE_HANDLE,
    "DELETE_HANDLE": options.DELETE_HANDLE,
    "SET_PROPERTY": options.SET_PROPERTY,
    "DELETE_PROPERTY": options.DELETE_PROPERTY,
    "INQUIRE_PROPERTY": options.INQUIRE_PROPERTY,
    "DESCRIBED": options.DESCRIBED,
    "SUPPORT": options.SUPPORT,
    "CONTEXT": options.CONTEXT,
    "COPY": options.COPY,
}
OTHERWISE = {"MATCH": mq.MQRC_MATCH_OPTIONS_ERROR} | dict.fromkeys(
    ("DESCRIBED", "SUPPORT", "CONTEXT", "COPY"), mq.MQRC_PD_ERROR
)
"""Tables whose refusal is not MQRC_OPTIONS_ERROR."""
EACH = [(table, option) for table in TABLES.values() for option in table.table]


def beside(table: OptionTable, options: int) -> int:
    """One option of those that are needed beside these."""
    wanted = [needed for needing, needed in table.needs if options & needing]
    return sum(needed & -needed for needed in wanted)


@each(EACH, lambda one: getattr(one, "name", ""))
def test_each_option_is_taken_or_refused_as_its_row_says(
    table: OptionTable, option: Option
) -> None:
    if not option.refused:
        table.check(option.bits | beside(table, option.bits))
        return
    with pytest.raises(MqiFailure) as refused:
        table.check(option.bits)
    assert refused.value.reason == option.refused


@each(TABLES)
def test_each_option_has_a_bit_of_its_own(name: str) -> None:
    bits = [option.bits for option in TABLES[name].table]
    assert len(set(bits)) == len(bits)
    assert all(bit and not bit & (bit - 1) for bit in bits)


@each(TABLES)
def test_what_is_no_option_is_refused(name: str) -> None:
    with pytest.raises(MqiFailure) as refused:
        TABLES[name].check(1 << 31)
    assert refused.value.reason == OTHERWISE.get(name, mq.MQRC_OPTIONS_ERROR)


def test_two_of_a_kind_are_refused() -> None:
    options.GET.check(mq.MQGMO_SYNCPOINT | mq.MQGMO_WAIT)
    with pytest.raises(MqiFailure) as refused:
        options.GET.check(mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT)
    assert refused.value.reason == mq.MQRC_OPTIONS_ERROR


@pytest.mark.parametrize(
    ("name", "alone", "beside_it"),
    [
        ("OPEN", "MQOO_SAVE_ALL_CONTEXT MQOO_BROWSE", "MQOO_INPUT_SHARED"),
        ("OPEN", "MQOO_PASS_IDENTITY_CONTEXT MQOO_INPUT_SHARED", "MQOO_OUTPUT"),
        ("OPEN", "MQOO_PASS_ALL_CONTEXT MQOO_INPUT_SHARED", "MQOO_OUTPUT"),
        ("OPEN", "MQOO_SET_IDENTITY_CONTEXT MQOO_INPUT_SHARED", "MQOO_OUTPUT"),
        ("OPEN", "MQOO_SET_ALL_CONTEXT MQOO_INPUT_SHARED", "MQOO_OUTPUT"),
        ("OPEN", "MQOO_NO_MULTICAST MQOO_INPUT_SHARED", "MQOO_OUTPUT"),
        ("OPEN", "MQOO_CO_OP MQOO_INPUT_SHARED", "MQOO_BROWSE"),
    ],
)
def test_some_options_need_another(name: str, alone: str, beside_it: str) -> None:
    bits = sum(getattr(mq, option) for option in alone.split())
    with pytest.raises(MqiFailure) as refused:
        TABLES[name].check(bits)
    assert refused.value.reason == mq.MQRC_OPTIONS_ERROR
    assert TABLES[name].check(bits | getattr(mq, beside_it))
