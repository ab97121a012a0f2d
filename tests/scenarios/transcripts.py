"""The transcripts, and how one is played on a driver."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.scenarios.drivers import Driver
from tests.scenarios.language import Transcript, TranscriptError, call_of
from tests.scenarios.values import value_of
from tests.scenarios.world import World

TRANSCRIPTS = tuple(sorted(Path(__file__).parent.glob("*.txt")))


def name_of(path: Path) -> str:
    """Name a transcript in a test's id."""
    return path.stem


def limits_of(transcript: Transcript) -> dict[str, Any]:
    """Return the queue manager's limits and attributes, if the transcript begins with some."""
    call = call_of(transcript.steps[0].command)
    options = call.options if call.verb == "limits" else {}
    return {name: value_of(value) for name, value in options.items()}


def played(transcript: Transcript, driver: Driver) -> Transcript:
    """Return the transcript with the outcomes that this driver has."""
    world = World(driver)
    for step in transcript.steps[bool(limits_of(transcript)) :]:
        try:
            step.outcome = world.do(step.command)
        except (TranscriptError, LookupError, ValueError) as error:
            raise TranscriptError(f"line {step.line}: {step.command!r}: {error!r}") from error
    return transcript
