"""What strangers send costs nobody else anything: a few thousand attempts of each run.

`python -m tests.strangers 200000` makes more of them by hand.
"""

from pathlib import Path

from tests.strangers.onslaught import Onslaught, running

ATTEMPTS = 3_000


def test_strangers_cost_nobody_else_anything(tmp_path: Path) -> None:
    with running(tmp_path) as site:
        report = Onslaught(site, seed=7).run(ATTEMPTS)
    assert report.attempts == sum(report.by_port.values()) == ATTEMPTS
    assert min(report.by_port.values()) > ATTEMPTS / 10
    assert report.turns >= ATTEMPTS / 25
