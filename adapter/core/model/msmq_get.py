"""What a unit does with a message of MSMQ that it got.

A unit knows it by what the queue stores, and not by the message's id: a send to several queues
gives all copies one id, and a moved message keeps its id. This module does not know what a receive
causes.
"""

from __future__ import annotations

from msgspec import Struct

from adapter.core.contract.message import MessageData


class MsmqGet(Struct):
    """caused: what the receive has put, its journal copy and its acknowledgment. is_moved: the unit
    moves the message, and has not received it. is_rejected: it was reported as rejected instead.
    """

    caused: list[MessageData] = []
    is_moved: bool = False
    is_rejected: bool = False
