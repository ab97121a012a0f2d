"""Either of two queue managers is killed while messages travel both ways."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.soak.travelling import Travel, travel
from tests.support.shared_kafka import AnyKafka


@pytest.mark.timeout(240)
def test_nothing_is_lost_doubled_or_reordered_between_queue_managers(
    kafka: AnyKafka, unique_name: Callable[..., str], tmp_path: Path
) -> None:
    plan = Travel(messages=5_000, kills=5, seed=3)
    travel(plan, (unique_name("QMA"), unique_name("QMB")), kafka.bootstrap_servers, tmp_path)
