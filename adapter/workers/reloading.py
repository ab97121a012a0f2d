"""Files whose change means that a program is to be loaded anew."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


class WatchedFiles:
    """Files as they were when they were first named here."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}

    def add(self, files: Iterable[str]) -> None:
        """Watch these, too."""
        for file in files:
            if file not in self._seen:
                self._seen[file] = _time_of(file)

    def has_changed(self) -> bool:
        """Whether one of them is not as it was."""
        return any(_time_of(file) != before for file, before in self._seen.items())


def _time_of(file: str) -> int:
    """When a file was changed; 0 if it is missing."""
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0
