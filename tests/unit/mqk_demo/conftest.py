"""What the demo's tests share: running `mqk` in this process, as the tests of its commands do."""

from tests.unit.cli.conftest import mqk

__all__ = ["mqk"]
