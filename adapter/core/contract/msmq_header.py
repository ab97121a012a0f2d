"""What only programs of MSMQ say of a message. This module does not know what rules make of it."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

TTRQ_DEFAULT_MS: Final = 345_600_000  # four days

# MQMSG_ACKNOWLEDGMENT_*, to be added up.
ACKNOWLEDGE_ARRIVAL: Final = 1
ACKNOWLEDGE_RECEIVE: Final = 2
ACKNOWLEDGE_NOT_ARRIVED: Final = 4
ACKNOWLEDGE_NOT_RECEIVED: Final = 8

# MQMSG_DEADLETTER, MQMSG_JOURNAL, to be added up.
DEAD_LETTER: Final = 1
JOURNAL: Final = 2


class MsmqHeader(Struct, array_like=True, gc=False):
    """The properties of a message that MSMQ has and core's message has not.

    acknowledge, journal: see above. transactional: it was sent in a transaction. destination: the
    format name it was sent to; source: the computer it was sent from. reach_ms: how long it may
    travel (-1: without limit), and receive_by_ms when it must have been received (0: never).
    unit, unit_index, unit_size: of the transaction that sent it and its place there, if that is not
    the unit that put it where it is: it was moved, or copied.
    """

    label: str = ""
    app_specific: int = 0
    body_type: int = 0
    extension: bytes = b""
    message_class: int = 0
    acknowledge: int = 0
    journal: int = 0
    recoverable: bool = False
    transactional: bool = False
    destination: str = ""
    administration_queue: str = ""
    response_queue: str = ""
    dead_letter_queue: str = ""
    source: str = ""
    sent_ms: int = 0
    reach_ms: int = TTRQ_DEFAULT_MS
    receive_by_ms: int = 0
    move_count: int = 0
    unit: bytes = b""
    unit_index: int = 0
    unit_size: int = 0
