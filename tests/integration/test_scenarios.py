"""The transcripts of tests/scenarios on a real Kafka: the same commands, the same outcomes.

All of them run on the core and in a process without Kafka. What Kafka adds is a ledger that is read
again, so that in most runs some of those are played here in which a queue manager restarts.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from tests.scenarios.drivers import OnServer
from tests.scenarios.language import parse, render
from tests.scenarios.transcripts import TRANSCRIPTS, limits_of, name_of, played
from tests.support.examples import chosen, few
from tests.support.shared_kafka import AnyKafka


def restarts(path: Path) -> bool:
    """Whether the queue manager of a transcript begins again."""
    return any(
        line.split()[:1] in (["crash"], ["restart"]) for line in path.read_text().splitlines()
    )


PLAYED = few(chosen(TRANSCRIPTS, restarts), 10)


@pytest.mark.parametrize("path", PLAYED, ids=name_of)
def test_on_kafka(path: Path, kafka: AnyKafka, unique_name: Callable[..., str]) -> None:
    text = path.read_text()
    transcript = parse(text)
    with testing.queue_manager(
        unique_name("QM"),
        clock="manual",
        bootstrap_servers=kafka.bootstrap_servers,
        **limits_of(transcript),
    ) as manager:
        driver = OnServer(manager)
        try:
            assert render(played(transcript, driver)) == text
        finally:
            driver.close()
