"""The registry contract, kept by a real Apicurio, but for the differences that the page tells."""

from collections.abc import Iterator

import pytest

from tests.contract import apicurio
from tests.contract.registry_contract import Olds, RegistryContract, Site


@pytest.fixture(scope="session")
def at_apicurio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """One for the run: it takes a quarter of a gigabyte."""
    with apicurio.running(tmp_path_factory.mktemp("apicurio")) as url:
        yield Site(url, ours=False)


@pytest.fixture(scope="module")
def olds() -> Olds:
    return {}


class TestApicurio(RegistryContract):
    @pytest.fixture
    def site(self, at_apicurio: Site) -> Site:
        return at_apicurio
