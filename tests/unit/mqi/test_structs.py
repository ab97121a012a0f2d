"""The layouts are those of ibmmq's classes: the same sizes, and the same fields at each place."""

import ibmmq
import pytest
from ibmmq import CMQC

from adapter.mqi import structs
from tests.support.each import each

CLASSES = {
    "MQMD": ibmmq.MD,
    "MQMDE": ibmmq.MDE,
    "MQOD": ibmmq.OD,
    "MQGMO": ibmmq.GMO,
    "MQPMO": ibmmq.PMO,
    "MQSD": ibmmq.SD,
    "MQSRO": ibmmq.SRO,
    "MQSTS": ibmmq.STS,
    "MQCBD": ibmmq.CBD,
    "MQCBC": ibmmq.CBC,
    "MQCTLO": ibmmq.CTLO,
    "MQCNO": ibmmq.CNO,
    "MQCSP": ibmmq.CSP,
    "MQSCO": ibmmq.SCO,
    "MQBNO": ibmmq.BNO,
    "MQCD": ibmmq.CD,
    "MQCMHO": ibmmq.CMHO,
    "MQDMHO": ibmmq.DMHO,
    "MQDMPO": ibmmq.DMPO,
    "MQPD": ibmmq.PD,
    "MQSMPO": ibmmq.SMPO,
    "MQIMPO": ibmmq.IMPO,
}


@each(CLASSES)
def test_a_layout_has_the_size_of_the_class(name: str) -> None:
    assert getattr(structs, name).size == CLASSES[name]().get_length()


@each(CLASSES)
def test_a_field_of_the_class_is_a_field_of_the_layout(name: str) -> None:
    """Each whole number is set to one of its own; the layout finds it under the same name."""
    layout = getattr(structs, name)
    described = CLASSES[name]()
    named = [one for one in layout.fields if hasattr(described, one) and one != "StrucId"]
    numbers = {one: at for at, one in enumerate(named, 1) if type(described[one]) is int}
    numbers["Version"] = 99  # of which each field is one
    for one, number in numbers.items():
        described[one] = number
    read = layout.read(described.pack())
    assert {one: read[one] for one in numbers} == numbers


@each(CLASSES)
def test_what_was_read_is_written_again(name: str) -> None:
    layout = getattr(structs, name)
    packed = CLASSES[name]().pack()
    assert layout.write(layout.read(packed)) == packed


VERSIONED = ("MQMD", "MQOD", "MQGMO", "MQPMO", "MQCSP", "MQSTS")
VERSIONS = [
    (name, int(constant.rpartition("_")[2]), getattr(CMQC, constant))
    for name in VERSIONED
    for constant in dir(CMQC)
    if constant.startswith(f"{name}_LENGTH_")
]
"""Each version of a structure, and how long the manual says that it is."""


@each(VERSIONS)
def test_what_a_version_does_not_have_is_blank_and_stays(
    name: str, version: int, length: int
) -> None:
    layout = getattr(structs, name)
    packed = b"\xff" * 4 + version.to_bytes(4, "little") + b"\xff" * (layout.size - 8)
    fields = layout.read(packed)
    beyond = fields.get(structs.BEYOND, b"")
    assert 0 <= length - (layout.size - len(beyond)) < 8, "but for what fills it up"
    at = layout.size - len(beyond)
    assert layout.read(packed[:at] + bytes(len(beyond))) | {structs.BEYOND: beyond} == (
        fields | {structs.BEYOND: beyond}
    )
    written = layout.write({one: fields[one] for one in fields})
    assert written[at:] == packed[at:]


def test_another_size_is_refused() -> None:
    with pytest.raises(structs.WrongSize, match=r"MQMD wrong size\. Given: 3, expected 364"):
        structs.MQMD.read(b"abc")


def test_the_shorter_layouts_of_older_levels() -> None:
    assert structs.MQCD_11.size == 1988
    assert structs.MQSCO_5.size == 628
