"""The auditor of delays must be able to say no, and yes to what is right."""

import pytest

from tests.simulation.delay_auditor import DelayAuditor, Letter

NOW = Letter("now", "Q", 0, True, 0, 0)
LATER = Letter("later", "Q", 0, True, 10, 0)
SOFT = Letter("soft", "Q", 9, False, 5, 0)
SHORT = Letter("short", "Q", 0, True, 20, 7)


@pytest.fixture
def auditor() -> DelayAuditor:
    """Queue Q, with one message that is there and three that wait."""
    auditor = DelayAuditor()
    auditor.defined("Q")
    for letter in (NOW, LATER, SOFT, SHORT):
        auditor.put(letter, "")
    return auditor


def test_what_waits_is_seen_when_it_is_due(auditor: DelayAuditor) -> None:
    assert auditor.seen() == {"Q": (["now"], 3)}
    auditor.passes(5)
    assert auditor.seen() == {"Q": (["soft", "now"], 2)}
    auditor.passes(10)
    assert auditor.seen() == {"Q": (["soft", "now", "later"], 0)}
    assert auditor.got("Q", "") == "soft"


def test_a_crash_takes_what_is_not_persistent(auditor: DelayAuditor) -> None:
    auditor.crashed(keeps_soft=True)
    assert auditor.seen() == {"Q": (["now"], 3)}
    auditor.crashed(keeps_soft=False)
    assert auditor.seen() == {"Q": (["now"], 2)}


def test_units(auditor: DelayAuditor) -> None:
    auditor.begun("ann", "u")
    auditor.put(Letter("held", "Q", 0, True, 1, 0), "u")
    assert auditor.got("Q", "u") == "now"
    auditor.passes(2)
    assert auditor.seen() == {"Q": ([], 3)}
    auditor.committed("u")
    assert auditor.seen() == {"Q": ([], 4)}
    auditor.begun("ann", "v")
    auditor.passes(3)
    assert auditor.got("Q", "v") == "held"
    auditor.lost("ann")
    assert auditor.seen() == {"Q": (["held"], 3)}


def test_a_purge_takes_all(auditor: DelayAuditor) -> None:
    assert auditor.purged("Q") == 4
    auditor.passes(100)
    assert auditor.seen() == {"Q": ([], 0)}


def test_another_answer_is_refused(auditor: DelayAuditor) -> None:
    with pytest.raises(AssertionError, match="due is"):
        auditor.check(auditor.seen(), {"Q": (["now", "later"], 2)}, "a look")
