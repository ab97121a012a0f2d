"""Computers of MSMQ that have a queue manager of their own, as the directory says. Soft state.

This module does not know how their queues are reached.
"""

from __future__ import annotations

from msgspec import Struct


class KnownComputer(Struct, frozen=True):
    """A computer of MSMQ. queue_manager: that has its queues; address, tls_address: HOST:PORT of
    it, without TLS and with it; "" for nowhere. is_former: it had this name, and has another now.
    """

    queue_manager: str
    address: str
    tls_address: str = ""
    is_former: bool = False
