"""Every reason of core has a code of the MQI."""

from ibmmq import CMQSTRC

from adapter import mq_constants as mq
from adapter.core.contract.reasons import Reason
from adapter.errors import ConnectionBroken, Error
from adapter.errors.refusals import REFUSALS, refusal
from adapter.mqi.reasons import DIFFERENT, REASON_CODES, failure_of
from tests.support.each import each


@each(Reason, lambda reason: reason.name)
def test_every_reason_has_a_code_that_programs_know(reason: Reason) -> None:
    code = REASON_CODES[reason]
    assert code in CMQSTRC.MQRC_DICT or code in CMQSTRC.MQRCCF_DICT
    assert failure_of(refusal(reason)).reason == code


@each(Reason, lambda reason: reason.name)
def test_only_what_is_said_to_differ_differs(reason: Reason) -> None:
    same = REFUSALS[reason].error.reason == REASON_CODES[reason]
    assert same == (reason not in DIFFERENT)


def test_errors_of_the_client_layer_keep_their_codes() -> None:
    assert failure_of(ConnectionBroken("gone")).reason == mq.MQRC_CONNECTION_BROKEN
    assert failure_of(Error("what?")).reason == mq.MQRC_UNEXPECTED_ERROR
    assert failure_of(Error("what?")).code == mq.MQCC_FAILED
