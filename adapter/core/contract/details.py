"""What only programs of MQ say of a message: origin, flags and segments. Most messages have none.

One optional struct instead of nine fields, so that the others neither carry nor pay for it. This
module does not know what a rule makes of it.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

# MQMD.MsgFlags, as MQ numbers them.
SEGMENTATION_ALLOWED: Final = 1
SEGMENT: Final = 2
LAST_SEGMENT: Final = 4
IN_GROUP: Final = 8
LAST_IN_GROUP: Final = 16
FLAGS: Final = SEGMENTATION_ALLOWED | SEGMENT | LAST_SEGMENT | IN_GROUP | LAST_IN_GROUP

TOKEN_LENGTH: Final = 32  # MQ_ACCOUNTING_TOKEN_LENGTH
OFFSET_MAX: Final = 999_999_999  # MQMD.Offset
APPL_TYPE_DEFAULT: Final = 6  # MQAT_DEFAULT
APPL_TYPE_QMGR: Final = 7  # MQAT_QMGR
NO_DATE_TIME: Final = " " * 16
LENGTH_UNDEFINED: Final = -1  # MQOL_UNDEFINED
NONE_ASKED: Final = -1
THE_QUEUE_MANAGER: Final = "\0"
"""The putter of what is put with every authority: no user can have this name."""
NO_USER: Final = "\1"
"""The putter of what a client put that has not proved who it is."""
AND_CONTEXT: Final = "\2"
"""Begins the putter of what was put with the context of another user, who has to have each right
too.
"""


class Details(Struct, array_like=True, gc=False):
    """The fields of MQMD that a message rarely says anything in.

    accounting_token: 32 bytes, or none. flags: MQMD.MsgFlags as put; whether a message is the last
    of its group stands in Message.last_in_group too. offset: of a segment's first byte in the
    logical message. original_length: of the message that a report is about. priority_asked: what a
    put asked for beyond the highest priority there is (MQRC_PRIORITY_EXCEEDS_MAXIMUM).
    put_date_time: MQMD.PutDate and PutTime, 8 characters each with their blanks, if a program said
    them, NO_DATE_TIME if it asked for no context; else empty, and they are those of
    Message.put_time_ms. putter: by whose authorities what the queue manager puts for the message is
    put, if that is not the user of its context: see putters_of. Only operators can set it.
    """

    accounting_token: bytes = b""
    identity_data: str = ""
    appl_type: int = 0  # MQAT_NO_CONTEXT
    origin_data: str = ""
    offset: int = 0
    flags: int = 0
    original_length: int = LENGTH_UNDEFINED
    priority_asked: int = NONE_ASKED
    put_date_time: str = ""
    putter: str = ""


def putters_of(user: str, details: Details | None) -> tuple[str, ...]:
    """Return the users who all have to have the right to put what a message causes; "": who has not
    proved a user. None of them: no right is needed.

    user: of the message's context.
    """
    putter = details.putter if details is not None else ""
    who = putter.removeprefix(AND_CONTEXT)
    own = () if who == THE_QUEUE_MANAGER else ("" if who == NO_USER else who or user,)
    return own if who == putter else (*own, user)
