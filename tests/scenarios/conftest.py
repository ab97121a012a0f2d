"""The option that writes the transcripts again."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare --rewrite."""
    parser.addoption(
        "--rewrite",
        action="store_true",
        help="write the outcomes of tests/scenarios/*.txt again, from the bare core",
    )
