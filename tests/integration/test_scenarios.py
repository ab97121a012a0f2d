"""The transcripts of tests/scenarios on a real Kafka: the same commands, the same outcomes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapter import testing
from tests.scenarios.drivers import OnServer
from tests.scenarios.language import parse, render
from tests.scenarios.transcripts import TRANSCRIPTS, limits_of, name_of, played
from tests.support.shared_kafka import AnyKafka


@pytest.mark.parametrize("path", TRANSCRIPTS, ids=name_of)
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
