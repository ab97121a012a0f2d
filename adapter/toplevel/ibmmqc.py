"""The extension module that IBM's package ibmmq looks for: the MQI in Python, over this client.

ibmmq imports it when its own, which needs IBM's client libraries, cannot be loaded. What arguments
a function takes and what it returns is what that package's own module takes and returns.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adapter import mq_constants as mq
from adapter.mqi import structs
from adapter.mqi.arguments import as_list, buffer, integers, name_of
from adapter.mqi.interface import Interface
from adapter.mqi.structs import WrongSize as error  # noqa: N813 -- the name it is known by

try:
    __version__ = version("ibmmq")
except PackageNotFoundError:
    __version__ = "0"
__cmdlevel__ = 930
__mqbuild__ = "common"
__strucversions__ = {
    "bno": 1,
    "cbc": 2,
    "cbd": 1,
    "cd": 13,
    "cfh": 3,
    "cih": 2,
    "cmho": 1,
    "cno": 8,
    "csp": 3,
    "ctlo": 1,
    "dlh": 1,
    "dmho": 1,
    "dmpo": 1,
    "gmo": 4,
    "iih": 1,
    "impo": 1,
    "md": 2,
    "mde": 2,
    "od": 4,
    "pd": 1,
    "pmo": 3,
    "sco": 7,
    "sd": 1,
    "smpo": 1,
    "sro": 1,
    "sts": 2,
    "tm": 1,
    "tmc": 2,
    "xqh": 1,
}

_mqi = Interface()
globals()["ibmmqc.error"] = error  # under this name the extension module has it

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
MQDLTMP = _mqi.properties.delete_property
MQDLTMH = _mqi.properties.delete_handle
MQSUBRQ = _mqi.request_publications
MQSTAT = _mqi.status
MQCB = _mqi.callback
MQCTL = _mqi.control


def MQLOGCF(opts: int, filename: str = "") -> tuple[int]:
    """Take note of a request to trace: there is nothing in here to trace."""
    return (0,)


def MQCONN(name: bytes | str) -> tuple[int, int, int]:
    """Connect: (hconn, code, reason)."""
    return _mqi.connect(name_of(name))


def MQCONNX(
    name: bytes,
    cno: bytes | None,
    cd: bytes | None,
    csp: bytes | None,
    sco: bytes | None,
    bno: bytes | None,
) -> tuple[int, int, int]:
    """Connect with options: (hconn, code, reason)."""
    if bno is not None:
        structs.MQBNO.check(bno)
    return _mqi.connect(name_of(buffer(name)), cno, cd, csp, sco)


def MQINQ(
    hconn: int,
    hobj: int,
    selectors: list[int],
    ints: list[int],
    int_count: int,
    char_count: int,
    char_length: int,
) -> tuple[list[int], bytes | None, int, int]:
    """Inquire about an object: (ints, with the values behind what it holds; texts, code, reason).

    Without texts asked for they are None.
    """
    found, chars, code, reason = _mqi.inquire(
        hconn, hobj, integers(as_list(selectors, error)), int_count, char_length
    )
    if code != mq.MQCC_FAILED:
        as_list(ints, error).extend(found)
    return ints, chars if char_length > 0 else None, code, reason


def MQSET(
    hconn: int, hobj: int, selectors: list[int], ints: list[int], chars: bytes
) -> tuple[int, int]:
    """Set attributes of an object: (code, reason)."""
    return _mqi.set(
        hconn,
        hobj,
        integers(as_list(selectors, error)),
        integers(as_list(ints, error)),
        chars,
    )


def MQCBINIT(function: Callable[..., object]) -> None:
    """Name the function that every callback goes through."""
    if not callable(function):
        raise error("Need a callable object.")
    _mqi.proxy = function


def MQINQMP(
    hconn: int, hmsg: int, impo: bytes, name: bytes, pd: bytes, kind: int, room: int
) -> tuple[Any, int, str | None, int, int]:
    """Inquire about a property: (value, length, its name if a wildcard asked, code, reason)."""
    structs.MQPD.check(pd)
    value, length, found, code, reason = _mqi.properties.inquire_property(
        hconn, hmsg, buffer(impo), name, kind, room
    )
    return value, length, found if b"%" in name else None, code, reason
