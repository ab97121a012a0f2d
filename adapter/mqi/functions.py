"""The functions that both extension modules have alike: each takes what its C original takes.

An extension module gives them their names. This module knows no verb's work: that is Interface's.
"""

from __future__ import annotations

from typing import Any

from adapter.mqi.arguments import buffer
from adapter.mqi.interface import Interface
from adapter.mqi.putting import Put
from adapter.mqi.reasons import Codes


class Functions:
    """The functions of one extension module. Bytes-like objects are taken; text is a TypeError."""

    def __init__(self, mqi: Interface) -> None:
        self._mqi = mqi
        self.disconnect = mqi.disconnect
        self.close = mqi.close
        self.begin = mqi.begin
        self.commit = mqi.commit
        self.backout = mqi.backout

    def open(self, hconn: int, od: bytes, options: int) -> tuple[int, bytes, int, int]:
        """MQOPEN: (hobj, MQOD, code, reason)."""
        return self._mqi.open(hconn, buffer(od), options)

    def put(self, hconn: int, hobj: int, md: bytes, pmo: bytes, body: bytes) -> Put:
        """MQPUT: (MQMD, MQPMO, code, reason)."""
        return self._mqi.put(hconn, hobj, buffer(md), buffer(pmo), buffer(body))

    def put1(self, hconn: int, od: bytes, md: bytes, pmo: bytes, body: bytes) -> Put:
        """MQPUT1: (MQMD, MQPMO, code, reason)."""
        return self._mqi.put1(hconn, buffer(od), buffer(md), buffer(pmo), buffer(body))

    def get(
        self, hconn: int, hobj: int, md: bytes, gmo: bytes, room: int
    ) -> tuple[bytes, bytes, bytes, int, int, int]:
        """MQGET: (body, MQMD, MQGMO, length, code, reason)."""
        return self._mqi.get(hconn, hobj, buffer(md), buffer(gmo), room)

    def subscribe(self, hconn: int, sd: bytes, hobj: int) -> tuple[bytes, int, int, int, int]:
        """MQSUB: (MQSD, hobj, hsub, code, reason)."""
        return self._mqi.subscribe(hconn, buffer(sd), hobj)

    def create_handle(self, hconn: int, cmho: bytes) -> tuple[int, int, int]:
        """MQCRTMH: (hmsg, code, reason)."""
        return self._mqi.properties.create_handle(hconn, buffer(cmho))

    def set_property(
        self,
        hconn: int,
        hmsg: int,
        smpo: bytes,
        name: bytes,
        pd: bytes,
        kind: int,
        value: Any,
        length: int,
    ) -> Codes:
        """MQSETMP: (code, reason)."""
        return self._mqi.properties.set_property(
            hconn, hmsg, buffer(smpo), buffer(name), buffer(pd), kind, value, length
        )
