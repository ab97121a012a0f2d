"""What every test may use: one Kafka for the whole run, unique names, and strict outcomes."""

from pathlib import Path

import pytest

from tests.strict_outcomes import StrictOutcomes, add_option

# Cheap layers first, so that a broken rule shows before a broker is started.
LAYERS = ("unit", "scenarios", "spec", "contract", "integration", "acceptance")
TESTS = Path(__file__).parent


def pytest_addoption(parser: pytest.Parser) -> None:
    add_option(parser)


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(StrictOutcomes.of(config))


def layer_rank(path: Path) -> int:
    """Where in the run the tests of a file come; files beside the layers come first."""
    layer = path.relative_to(TESTS).parts[0] if path.is_relative_to(TESTS) else ""
    return LAYERS.index(layer) if layer in LAYERS else -1


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: layer_rank(item.path))
