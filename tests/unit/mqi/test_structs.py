"""The layouts are those of ibmmq's classes: the same sizes, and the same fields at each place."""

import ibmmq
import pytest

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
    for one, number in numbers.items():
        described[one] = number
    read = layout.read(described.pack())
    assert {one: read[one] for one in numbers} == numbers


@each(CLASSES)
def test_what_was_read_is_written_again(name: str) -> None:
    layout = getattr(structs, name)
    packed = CLASSES[name]().pack()
    assert layout.write(layout.read(packed)) == packed


def test_another_size_is_refused() -> None:
    with pytest.raises(structs.WrongSize, match=r"MQMD wrong size\. Given: 3, expected 364"):
        structs.MQMD.read(b"abc")


def test_the_shorter_layouts_of_older_levels() -> None:
    assert structs.MQCD_11.size == 1988
    assert structs.MQSCO_5.size == 628
