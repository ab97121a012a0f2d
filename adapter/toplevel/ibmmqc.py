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
from adapter.mqi.functions import Functions
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
_alike = Functions(_mqi)
globals()["ibmmqc.error"] = error  # under this name the extension module has it

MQDISC = _alike.disconnect
MQOPEN = _alike.open
MQCLOSE = _alike.close
MQPUT = _alike.put
MQPUT1 = _alike.put1
MQGET = _alike.get
MQBEGIN = _alike.begin
MQCMIT = _alike.commit
MQBACK = _alike.backout
MQSUB = _alike.subscribe
MQCRTMH = _alike.create_handle
MQSETMP = _alike.set_property


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
        structs.MQBNO.check(buffer(bno))
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
    if code == mq.MQCC_OK:
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
        buffer(chars),
    )


def MQSUBRQ(hconn: int, hsub: int, action: int, sro: bytes) -> tuple[bytes, int, int]:
    """Ask for retained publications: (MQSRO, code, reason)."""
    return _mqi.request_publications(hconn, hsub, action, buffer(sro))


def MQSTAT(hconn: int, kind: int, sts: bytes) -> tuple[bytes, int, int]:
    """Ask what became of asynchronous puts: (MQSTS, code, reason)."""
    return _mqi.status(hconn, kind, buffer(sts))


def MQCBINIT(function: Callable[..., object]) -> None:
    """Name the function that every callback goes through."""
    if not callable(function):
        raise error("Need a callable object.")
    _mqi.proxy = function


def MQCB(
    hconn: int, operation: int, cbd: bytes, hobj: int, md: bytes, gmo: bytes
) -> tuple[int, int]:
    """Register a callback, or take it back: (code, reason)."""
    return _mqi.callback(hconn, operation, buffer(cbd), hobj, buffer(md), buffer(gmo))


def MQCTL(hconn: int, operation: int, ctlo: bytes) -> tuple[int, int]:
    """Start or stop callbacks: (code, reason)."""
    return _mqi.control(hconn, operation, buffer(ctlo))


def MQDLTMH(hconn: int, hmsg: int, dmho: bytes) -> tuple[int, int]:
    """Delete a message handle: (code, reason)."""
    return _mqi.properties.delete_handle(hconn, hmsg, buffer(dmho))


def MQINQMP(
    hconn: int, hmsg: int, impo: bytes, name: bytes, pd: bytes, kind: int, room: int
) -> tuple[Any, int, str | None, int, int]:
    """Inquire about a property: (value, length, its name if a wildcard asked, code, reason)."""
    structs.MQPD.check(buffer(pd))
    value, length, found, code, reason = _mqi.properties.inquire_property(
        hconn, hmsg, buffer(impo), buffer(name), kind, room
    )
    return value, length, found if b"%" in name else None, code, reason


def MQDLTMP(hconn: int, hmsg: int, dmpo: bytes, name: bytes) -> tuple[int, int]:
    """Delete a property: (code, reason)."""
    return _mqi.properties.delete_property(hconn, hmsg, buffer(dmpo), buffer(name))
