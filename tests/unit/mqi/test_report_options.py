"""Each bit of MQMD.Report is an option, or is answered as its part of the field says."""

import pytest

from adapter import mq_constants as mq
from adapter.mqi import report_options
from adapter.mqi.reasons import MqiFailure
from tests.support.each import each

MASKS = {
    "REJECT": 0x101C_0000,
    "ACCEPT": 0xEFE0_00FF,
    "IF_XMIT": 0x0003_FF00,
}
OPTIONS = [report_options.SINGLE, *(one for family in report_options.FAMILIES for one in family)]
PARTS = [0x0200_0000, 0x0600, 0x1000, 0x0500_0000, 0x0080_0000, 0x0040_0000]
BITS = [1 << number for number in range(32)]


def test_the_parts_are_the_whole_field() -> None:
    assert sum(MASKS.values()) == 0xFFFF_FFFF
    assert MASKS["REJECT"] == mq.MQRO_REJECT_UNSUP_MASK
    assert MASKS["IF_XMIT"] == mq.MQRO_ACCEPT_UNSUP_IF_XMIT_MASK


@each([*OPTIONS, sum(family[2] for family in report_options.FAMILIES)], hex)
def test_options_are_known(report: int) -> None:
    assert not report_options.unknown(report)
    assert not report_options.check(report, is_remote=False)


@each([*BITS, *PARTS], hex)
def test_what_is_no_option_is_answered_as_its_part_says(report: int) -> None:
    left = report_options.unknown(report)
    is_none = report in BITS and report not in OPTIONS and not report & report_options.SINGLE
    assert bool(left) == (is_none or report in PARTS)
    for is_remote in (False, True):
        refused = left & MASKS["REJECT"] or (left & MASKS["IF_XMIT"] and not is_remote)
        if refused:
            with pytest.raises(MqiFailure) as failure:
                report_options.check(report, is_remote=is_remote)
            assert failure.value.reason == mq.MQRC_REPORT_OPTIONS_ERROR
        else:
            warning = report_options.check(report, is_remote=is_remote)
            assert warning == (mq.MQRC_UNKNOWN_REPORT_OPTION if left else 0)


def test_a_sign_changes_nothing() -> None:
    assert report_options.check(-(2**31), is_remote=False) == mq.MQRC_UNKNOWN_REPORT_OPTION
