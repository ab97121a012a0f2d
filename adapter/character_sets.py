"""Character sets by MQ's numbers (CCSIDs): the codec of Python that reads and writes each.

Used for bodies that a get converts and for texts of PCF. This module knows no structure and no
message.
"""

from __future__ import annotations

from typing import Literal

Order = Literal["<", ">"]
CCSID_UTF_8 = 1208
UTF_16 = (1200, 13488, 17584)
"""Their bytes are in the order of the integers of the data that they are in."""
CODECS = {
    37: "cp037",
    273: "cp273",
    367: "ascii",
    437: "cp437",
    500: "cp500",
    819: "latin-1",
    850: "cp850",
    852: "cp852",
    858: "cp858",
    912: "iso8859-2",
    923: "iso8859-15",
    932: "cp932",
    943: "cp932",
    949: "cp949",
    950: "cp950",
    970: "euc-kr",
    1140: "cp1140",
    1200: "utf-16-le",
    1208: "utf-8",
    1250: "cp1250",
    1251: "cp1251",
    1252: "cp1252",
    1381: "gbk",
    1386: "gbk",
    5348: "cp1252",
    5488: "gb18030",
    13488: "utf-16-le",
    17584: "utf-16-le",
    33722: "euc-jp",
}
"""The character sets of MQ for which Python has a codec. UTF-16 is listed as little-endian."""


def codec_of(ccsid: int, order: Order) -> str | None:
    """Return the name of Python's codec for a character set; None for an unknown one."""
    if ccsid in UTF_16 and order == ">":
        return "utf-16-be"
    return CODECS.get(ccsid)
