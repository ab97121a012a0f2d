"""Files whose change means that a program is to be loaded anew.

A file may be saved while it is imported, and an import may take seconds. So a process notes when
each file was changed before it reads the file, and its supervisor compares that with what is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class ImportedFiles:
    """Files of modules as they were before they were imported: a finder that asks the others."""

    def __init__(self, noted: Callable[[str, int], object] = lambda _file, _time_ns: None) -> None:
        """noted: is told each file, once, before it is read, and when the file was changed."""
        self._tell = noted
        self._noted: dict[str, int] = {}
        self._asked: set[str] = set()
        """Modules that the other finders are asked for now."""

    @contextmanager
    def noting(self) -> Iterator[None]:
        """Note what is imported meanwhile."""
        sys.meta_path.insert(0, self)
        try:
            yield
        finally:
            with suppress(ValueError):  # the program has taken it away
                sys.meta_path.remove(self)

    def note(self, file: str) -> None:
        """Note a file that is about to be read."""
        if file not in self._noted:
            self._noted[file] = _time_of(file)
            self._tell(file, self._noted[file])

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return what the other finders find, and note its file."""
        if fullname in self._asked:
            return None  # one of the others asks all finders, too
        self._asked.add(fullname)
        try:
            spec = self._found(fullname, path, target)
        finally:
            self._asked.discard(fullname)
        if spec is not None and spec.has_location and spec.origin is not None:
            self.note(spec.origin)
        return spec

    def _found(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None
    ) -> ModuleSpec | None:
        for finder in [one for one in sys.meta_path if one is not self]:
            find_spec = getattr(finder, "find_spec", None)  # Python passes over one without it
            spec: ModuleSpec | None = find_spec and find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None

    def times(self, files: Iterable[str]) -> dict[str, int]:
        """Return when files were changed, as far as they were noted; else as they are now."""
        return {
            file: self._noted[file] if file in self._noted else _time_of(file) for file in files
        }


class WatchedFiles:
    """Files as processes have loaded them."""

    def __init__(self) -> None:
        self._loaded: set[tuple[str, int]] = set()

    def add(self, files: Mapping[str, int]) -> None:
        """Watch these, too."""
        self._loaded |= files.items()

    def has_changed(self) -> bool:
        """Whether one of them is not as a process has loaded it."""
        return any(_time_of(file) != then for file, then in self._loaded)


def _time_of(file: str) -> int:
    """When a file was changed; 0 if it is missing."""
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0
