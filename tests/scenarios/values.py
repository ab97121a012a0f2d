"""The values of transcripts: attributes, places and durations, from their texts."""

import re

from tests.scenarios.language import TranscriptError

_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)")
_UNITS_MS = {"ms": 1, "s": 1_000, "m": 60_000, "h": 3_600_000}


def value_of(text: str) -> object:
    """Read an attribute value."""
    if text in ("yes", "no"):
        return text == "yes"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def place_of(text: str) -> tuple[int, int, int] | None:
    """Read LANE/SEQ+N as a place."""
    parts = [int(part) for part in re.split(r"[/+]", text) if part]
    return (parts[0], parts[1], sum(parts[2:])) if parts else None


def duration_ms(text: str) -> int:
    """Read 10s, 500ms, 2m, 1h."""
    match = _DURATION.fullmatch(text)
    if match is None:
        raise TranscriptError(f"{text!r} is no duration, such as 10s")
    return round(float(match[1]) * _UNITS_MS[match[2]])
