"""The registry contract, kept by ours in memory and on a real Kafka. `make kills` asks a real
Apicurio too."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from adapter.registry import topic
from adapter.registry.http import RegistryServer
from tests.contract import apicurio
from tests.contract.registry_contract import DIFFERENCES, Olds, RegistryContract, Site
from tests.support.shared_kafka import AnyKafka

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def in_memory() -> Iterator[Site]:
    with RegistryServer(topic.in_memory()) as server:
        yield Site(server.start(port=0), ours=True)


@pytest.fixture(scope="module")
def on_kafka(kafka: AnyKafka) -> Iterator[Site]:
    registry = topic.on_kafka(kafka.bootstrap_servers, "_schemas.contract")
    with closing(registry), RegistryServer(registry) as server:
        yield Site(server.start(port=0), ours=True)


@pytest.fixture(scope="module")
def olds() -> Olds:
    return {}


class TestInMemory(RegistryContract):
    @pytest.fixture
    def site(self, in_memory: Site) -> Site:
        return in_memory


class TestOnKafka(RegistryContract):
    @pytest.fixture
    def site(self, on_kafka: Site) -> Site:
        return on_kafka


def test_the_differences_are_few_and_told() -> None:
    told = " ".join((DOCS / "schema-registry.md").read_text().split())
    assert len(DIFFERENCES) <= 10
    for name, reason in DIFFERENCES.items():
        assert f"- *{name}*: {reason}." in told
    assert told.count("- *") == len(DIFFERENCES)
    assert f"Apicurio Registry {apicurio.VERSION}" in told
