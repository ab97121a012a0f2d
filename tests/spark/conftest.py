"""One Spark session for the whole run, and a queue manager on the run's Kafka for each module."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from adapter import testing
from adapter.localkafka import LocalKafka
from spark_jobs import session
from tests.support.spark_site import Site


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The session, as jobs have it."""
    one = session.spark_session("tests")
    yield one
    one.stop()


@pytest.fixture(scope="module")
def site(kafka: LocalKafka, spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[Site]:
    """A queue manager of the module's own."""
    stem = request.path.stem.removeprefix("test_").upper().replace("_", "")
    with testing.queue_manager(
        f"SPARK{stem}", bootstrap_servers=kafka.bootstrap_servers
    ) as manager:
        yield Site(manager, kafka.bootstrap_servers, spark)
