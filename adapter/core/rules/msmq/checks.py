"""What every message of MSMQ must be, of programs and of other computers. It knows no queue."""

from __future__ import annotations

from adapter.core.attributes.msmq import MESSAGE_LABEL_LENGTH_MAX, PRIORITY_HIGHEST
from adapter.core.contract.format_names import is_computer
from adapter.core.contract.message import ID_LENGTH, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.contract.weights import size_of

EXPIRY_MAX_MS = 2**32 * 1000  # times of MSMQ are 32-bit numbers of seconds
TEXT_LENGTH_MAX = 1_024
BODY_MAX = 4 * 1024 * 1024  # a message of MSMQ has 4 MB at most
NUMBER_MAX = 2**32 - 1
TEXTS = (
    "destination",
    "administration_queue",
    "response_queue",
    "dead_letter_queue",
)


def check(message: MessageData, name: str) -> None:
    """Refuse what no message of MSMQ can be."""
    header = message.msmq or MsmqHeader()
    if len(header.label) > MESSAGE_LABEL_LENGTH_MAX:
        text = f"{len(header.label)} characters, of {MESSAGE_LABEL_LENGTH_MAX}"
        raise Refusal(Reason.LABEL_TOO_LONG, name, text)
    if size_of(message) > BODY_MAX:
        raise Refusal(Reason.MESSAGE_TOO_LONG, name, f"{size_of(message)} bytes, of {BODY_MAX}")
    if not -1 <= message.priority <= PRIORITY_HIGHEST:
        raise Refusal(Reason.PRIORITY_ERROR, name, f"{message.priority} is not 0 to 7")
    if not -1 <= message.expiry_ms <= EXPIRY_MAX_MS:
        raise Refusal(Reason.EXPIRY_ERROR, name, f"{message.expiry_ms} ms")
    for field in ("message_id", "correlation_id"):
        if len(getattr(message, field)) not in (0, ID_LENGTH):
            raise Refusal(Reason.IDENTIFIER_ERROR, name, f"{field} is not 24 bytes")
    if header.source and not is_computer(header.source):
        raise Refusal(Reason.OPTIONS_ERROR, name, "its source is not the name of a computer")
    for field in TEXTS:
        if len(getattr(header, field)) > TEXT_LENGTH_MAX:
            text = f"{field} has more than {TEXT_LENGTH_MAX} characters"
            raise Refusal(Reason.OPTIONS_ERROR, name, text)
    numbers = (header.app_specific, header.body_type, header.message_class)
    flags = (header.acknowledge, header.journal)
    if not all(0 <= one <= NUMBER_MAX for one in numbers) or not all(
        0 <= one < 16 for one in flags
    ):
        raise Refusal(Reason.OPTIONS_ERROR, name, "a number of its properties is out of range")
    if not -1 <= header.reach_ms <= EXPIRY_MAX_MS:
        raise Refusal(Reason.EXPIRY_ERROR, name, f"{header.reach_ms} ms to reach the queue")


def is_valid(message: MessageData) -> bool:
    """Whether a message that another computer sent is one of MSMQ."""
    try:
        check(message, "")
    except Refusal:
        return False
    return message.priority >= 0 and len(message.message_id) == ID_LENGTH
