"""What a stop may take."""

from adapter.runtime.owner.owner import QUIESCE_S
from adapter.runtime.owner.parts import DRAIN_S
from adapter.storage.movers.process import STOP_GRACE_S


def test_a_stop_takes_less_than_ten_seconds() -> None:
    """Units in flight, the last entries, and the movers, one after the other."""
    assert QUIESCE_S + DRAIN_S + STOP_GRACE_S < 10.0
