"""The verbs on message handles and their properties: structures in, values and codes out.

A message handle lives in the program; this module knows of connections only whether they are there.
"""

from __future__ import annotations

from typing import Any

from adapter import mq_constants as mq
from adapter.mqi import options as permitted
from adapter.mqi import structs
from adapter.mqi.arguments import buffer
from adapter.mqi.connections import ConnectionTable
from adapter.mqi.message_handles import MessageHandles, PropertyValue
from adapter.mqi.property_values import convert, cut, size_of
from adapter.mqi.reasons import OK, MqiFailure, returns_codes

DESCRIPTION = {
    "Options": permitted.DESCRIBED,
    "Support": permitted.SUPPORT,
    "Context": permitted.CONTEXT,
    "CopyOptions": permitted.COPY,
}
"""The fields of an MQPD, and what each may say."""


class PropertyVerbs:
    """MQCRTMH, MQDLTMH, MQSETMP, MQINQMP and MQDLTMP."""

    def __init__(self, connections: ConnectionTable, messages: MessageHandles) -> None:
        self._connections = connections
        self._messages = messages

    def _check_connection(self, hconn: int) -> None:
        if hconn != mq.MQHC_UNASSOCIATED_HCONN:
            self._connections.check(hconn)

    def create_handle(self, hconn: int, cmho: bytes) -> tuple[int, int, int]:
        """MQCRTMH: the message handle, the codes."""
        fields = structs.MQCMHO.read(cmho)
        try:
            self._check_connection(hconn)
            permitted.CREATE_HANDLE.check(structs.MQCMHO.confirm(fields)["Options"])
            return (self._messages.create(hconn), *OK)
        except MqiFailure as failure:
            return mq.MQHM_UNUSABLE_HMSG, failure.code, failure.reason

    @returns_codes
    def delete_handle(self, hconn: int, hmsg: int, dmho: bytes) -> None:
        """MQDLTMH."""
        fields = structs.MQDMHO.read(dmho)
        self._check_connection(hconn)
        permitted.DELETE_HANDLE.check(structs.MQDMHO.confirm(fields)["Options"])
        self._messages.delete(hconn, hmsg)

    @returns_codes
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
    ) -> None:
        """MQSETMP. value: as the package has it; length: of a text or bytes, -1 for all of it.

        Raises what the C module does, which writes a text as UTF-8: TypeError, UnicodeEncodeError.
        """
        fields, described = structs.MQSMPO.read(smpo), structs.MQPD.read(pd)
        self._check_connection(hconn)
        structs.MQPD.confirm(described)
        for name_of, table in DESCRIPTION.items():
            table.check(described[name_of])
        permitted.SET_PROPERTY.check(structs.MQSMPO.confirm(fields)["Options"])
        if kind == mq.MQTYPE_STRING:
            if not isinstance(value, str):
                raise TypeError(f"the value of a text property is a str, not {value!r}")
            value.encode()
        if length >= 0 and isinstance(value, (str, bytes)):
            value = cut(value, length)
        self._messages.set(hconn, hmsg, buffer(name).decode("utf-8", "replace"), kind, value)

    def inquire_property(
        self, hconn: int, hmsg: int, impo: int | bytes, name: bytes, kind: int, room: int
    ) -> tuple[Any, int, str, int, int]:
        """MQINQMP. impo: an MQIMPO or its options alone. Value, length, name, the codes."""
        if not isinstance(impo, int):
            impo = structs.MQIMPO.check(impo)
        try:
            self._check_connection(hconn)
            asked = impo if isinstance(impo, int) else _options_of(impo)
            found, held = self._messages.find(
                hconn, hmsg, buffer(name).decode("utf-8", "replace"), asked
            )
            return _within(_as_asked(held, kind, asked), found, room, asked)
        except MqiFailure as failure:
            return None, 0, "", failure.code, failure.reason

    @returns_codes
    def delete_property(self, hconn: int, hmsg: int, dmpo: bytes, name: bytes) -> None:
        """MQDLTMP."""
        fields = structs.MQDMPO.read(dmpo)
        self._check_connection(hconn)
        asked = permitted.DELETE_PROPERTY.check(structs.MQDMPO.confirm(fields)["Options"])
        under_cursor = bool(asked & mq.MQDMPO_DEL_PROP_UNDER_CURSOR)
        self._messages.unset(hconn, hmsg, buffer(name).decode("utf-8", "replace"), under_cursor)


def _options_of(impo: bytes) -> int:
    """Return the options of an MQIMPO. MqiFailure(2464) if it is invalid."""
    return int(structs.MQIMPO.confirm(structs.MQIMPO.read(impo))["Options"])


def _as_asked(held: PropertyValue, kind: int, asked: int) -> PropertyValue:
    """Return a value as the type that is asked for. asked: MQIMPO_*. MqiFailure(2473)."""
    if kind in (mq.MQTYPE_AS_SET, held.type):
        return held
    if held.is_of(kind):
        return PropertyValue(held.value, kind)
    if not asked & mq.MQIMPO_CONVERT_TYPE:
        raise MqiFailure(mq.MQRC_PROPERTY_TYPE_ERROR)
    return PropertyValue(convert(held.value, kind), kind)


def _within(held: PropertyValue, name: str, room: int, impo: int) -> tuple[Any, int, str, int, int]:
    """Cut a value to the program's buffer. MqiFailure(2469) if it does not fit."""
    size = size_of(held.type, held.value)
    if impo & mq.MQIMPO_QUERY_LENGTH:
        return held.value, size, name, *OK
    if size <= room:
        return held.value, size, name, *OK
    value = held.value
    if isinstance(value, (str, bytes)):
        value = cut(value, room)
    return value, size, name, mq.MQCC_FAILED, mq.MQRC_PROPERTY_VALUE_TOO_BIG
