"""The selectors of MQINQ and MQSET: which numbers are any, and how long the text of each is.

They are those of the manual, of every platform and every type of object, whether objects here have
such an attribute or not: a text's length says where the next one begins. This module knows no
object.
"""

from __future__ import annotations

from typing import Final

_GAPS: Final = (
    *((67, 67), (79, 79), (125, 126), (132, 132), (142, 149), (177, 180), (191, 191), (194, 194)),
    *((197, 198), (200, 202), (209, 214), (217, 217), (220, 220), (241, 241)),
)
"""First and last of the numbers between those of MQIA_* that stand for nothing."""
WHOLE_NUMBERS: Final = frozenset(range(1, 280)).difference(
    *(range(first, last + 1) for first, last in _GAPS)
)
"""MQIA_*: the attributes that are whole numbers."""
_BY_LENGTH: Final = {
    2: (2074,),
    4: (2040, 2061, 2063, 2090),
    8: (
        2005,
        2022,
        2028,
        2038,
        2043,
        2060,
        2062,
        2068,
        2070,
        2072,
        2073,
        2075,
        2085,
        2086,
        2099,
        2120,
        2122,
        2136,
    ),
    12: (2004, 2027, 2037, 2039, 2041, 2098),
    16: (2044, 2116),
    18: (2071,),
    20: (2064, 2124),
    32: (2034, 2048, 2076, 2077, 2123, 2137),
    44: (2069, 2091),
    48: (
        2002,
        2003,
        2006,
        2008,
        2010,
        2012,
        2015,
        2016,
        2017,
        2018,
        2019,
        2020,
        2024,
        2025,
        2029,
        2030,
        2031,
        2032,
        2035,
        2036,
        2045,
        2050,
        2065,
        2066,
        2067,
        2092,
        2096,
        2097,
        2101,
        2102,
        2105,
        2110,
        2112,
        2125,
        2138,
    ),
    64: (2009, 2011, 2013, 2014, 2023, 2042, 2046, 2052, 2078, 2093, 2111, 2115, 2118, 2121, 2131),
    128: (2007, 2021, 2026, 2033, 2119, 2127, 2128, 2129, 2133, 2134, 2135),
    255: (2079, 2080, 2081, 2082, 2083, 2084),
    256: (2001, 2049, 2051, 2054, 2109, 2117, 2130),
    264: (2053,),
    1024: (2047, 2055, 2113, 2114, 2126, 2132),
    10240: (2094, 2108),
}
"""MQCA_* by the bytes of their texts (MQ_*_LENGTH)."""
TEXT_LENGTHS: Final = {
    selector: length for length, selectors in _BY_LENGTH.items() for selector in selectors
}
"""MQCA_*: the attributes that are texts, and how many bytes each has; of MQCA_NAMES each name."""
