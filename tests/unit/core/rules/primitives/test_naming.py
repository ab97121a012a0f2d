"""Names and patterns."""

import pytest

from adapter.core.contract.reasons import Reason, Refusal
from adapter.core.rules.primitives import naming


@pytest.mark.parametrize("name", ["A", "a.b_c/d%e", "0" * 48])
def test_names(name: str) -> None:
    naming.check_name(name)


@pytest.mark.parametrize("name", ["", "0" * 49, "A B", "Ä", "A*"])
def test_what_is_no_name(name: str) -> None:
    with pytest.raises(Refusal) as refused:
        naming.check_name(name)
    assert refused.value.reason is Reason.NAME_ERROR


def test_patterns_name_system_objects_only_when_they_begin_like_them() -> None:
    names = ["B", "SYSTEM.A", "A", "SX"]
    assert naming.fitting(names, "*", system=False) == ["A", "B", "SX"]
    assert naming.fitting(names, "*", system=True) == ["A", "B", "SX", "SYSTEM.A"]
    assert naming.fitting(names, "S*", system=False) == ["SX", "SYSTEM.A"]
    assert naming.fitting(names, "?", system=False) == ["A", "B"]


def test_a_pattern_has_a_bound() -> None:
    with pytest.raises(Refusal):
        naming.fitting([], "*" * 200, system=False)
