"""What can go wrong with the demo itself: its text says what happened and what to do."""

from __future__ import annotations

from adapter.errors import Error


class DemoError(Error):
    """The demo could not be run to its end."""

    def __str__(self) -> str:
        return self.text  # a reason code of the queue manager would mislead here


class FlightsError(DemoError):
    """The flights cannot be had."""
