"""The extension module that the package pymqi looks for: the MQI in Python, over this client.

pymqi imports it when its own, which needs IBM's client libraries to be built, is not there. What
arguments a function takes and what it returns is what that package's own module takes and returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adapter import mq_constants as mq
from adapter.mqi import structs
from adapter.mqi.arguments import buffer, name_of
from adapter.mqi.connecting import ProgramCredentials
from adapter.mqi.interface import Interface
from adapter.mqi.structs import WrongSize as error  # noqa: N813 -- the name it is known by

try:
    __version__ = version("pymqi")
except PackageNotFoundError:
    __version__ = "0"
__mqlevels__ = ("5.0", "5.1", "5.2", "5.3", "6.0", "7.0", "7.1", "7.5", "8.0.0")
__mqbuild__ = "client"

TEXT_LENGTH_MAX = 256
"""No attribute is longer; the extension module has a buffer of this size."""

_mqi = Interface()
globals()["pymqe.error"] = error  # under this name the extension module has it

MQDISC = _mqi.disconnect
MQOPEN = _mqi.open
MQCLOSE = _mqi.close
MQPUT = _mqi.put
MQPUT1 = _mqi.put1
MQGET = _mqi.get
MQBEGIN = _mqi.begin
MQCMIT = _mqi.commit
MQBACK = _mqi.backout
MQSUB = _mqi.subscribe
MQCRTMH = _mqi.properties.create_handle
MQSETMP = _mqi.properties.set_property


def MQCONN(name: bytes | str) -> tuple[int, int, int]:
    """Connect: (hconn, code, reason)."""
    return _mqi.connect(name_of(name))


def MQCONNX(
    name: bytes,
    options: int,
    cd: bytes | None,
    user_password: Mapping[str, bytes | str],
    sco: bytes | None = None,
) -> tuple[int, int, int]:
    """Connect with options: (hconn, code, reason)."""
    return _mqi.connect(
        name_of(buffer(name)),
        None,
        cd,
        None,
        sco,
        options=options,
        credentials=ProgramCredentials(
            name_of(user_password.get("user", "")),
            name_of(user_password.get("password", "")),
        ),
        layouts=(structs.MQCD_11, structs.MQSCO_5),
    )


def MQINQ(hconn: int, hobj: int, selector: int) -> tuple[int | bytes, int, int]:
    """Inquire about one attribute: (value, code, reason)."""
    ints, chars, code, reason = _mqi.inquire(hconn, hobj, [selector], 1, TEXT_LENGTH_MAX)
    if mq.MQIA_FIRST <= selector <= mq.MQIA_LAST:
        return (ints[0] if ints else 0), code, reason
    return chars.partition(b"\0")[0], code, reason


def MQSET(hconn: int, hobj: int, selector: int, value: int | bytes) -> tuple[int, int]:
    """Set one attribute: (code, reason)."""
    if mq.MQIA_FIRST <= selector <= mq.MQIA_LAST:
        if not isinstance(value, int):
            raise error("Arg is not a long integer")
        return _mqi.set(hconn, hobj, [selector], [value], b"")
    if not isinstance(value, bytes):
        raise error("Arg is not a byte-string")
    padded = value.ljust(TEXT_LENGTH_MAX)  # a text is as long as its attribute
    return _mqi.set(hconn, hobj, [selector], [], padded)


def MQINQMP(
    hconn: int, hmsg: int, impo_options: int, name: bytes, pd_options: int, kind: int, room: int
) -> tuple[Any, int, int, int]:
    """Inquire about a property: (value, length, code, reason)."""
    value, length, _, code, reason = _mqi.properties.inquire_property(
        hconn, hmsg, impo_options, name, kind, room
    )
    return value, length, code, reason


def mqaiExecute(*arguments: object) -> tuple[int, int, int]:
    """Stand for a function that pymqi has and does not call: (0, code, reason)."""
    return 0, mq.MQCC_FAILED, mq.MQRC_FUNCTION_NOT_SUPPORTED
