"""Files that are watched for a reload."""

import importlib
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from adapter.workers.reloading import ImportedFiles, WatchedFiles


def test_a_file_that_changes_comes_or_goes_is_noticed(tmp_path: Path) -> None:
    file, missing = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    for change in (lambda: os.utime(file, (1, 1)), file.unlink, lambda: missing.write_text("2")):
        watch = WatchedFiles()
        watch.add(ImportedFiles().times([str(file), str(missing)]))
        assert not watch.has_changed()
        change()
        assert watch.has_changed()
        watch.add(ImportedFiles().times([str(file), str(missing)]))
        assert watch.has_changed(), "a process has loaded it as it was"


def test_a_file_that_changes_while_it_is_imported_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_test").mkdir()
    files = [tmp_path / "imported_test" / name for name in ("__init__.py", "whole.py", "part.py")]
    for file in files:
        file.touch()
    files[1].write_text("from imported_test import part")
    files[2].write_text("import os\nos.utime(__file__, (1, 1))")
    monkeypatch.syspath_prepend(str(tmp_path))
    before = list(sys.meta_path)
    imported = ImportedFiles()
    with imported.noting():
        importlib.import_module("imported_test.whole")
        with pytest.raises(ModuleNotFoundError):
            importlib.import_module("imported_test.missing")
    assert sys.meta_path == before
    have_changed = []
    for file in files:
        watch = WatchedFiles()
        watch.add(imported.times([str(file)]))
        have_changed.append(watch.has_changed())
    assert have_changed == [False, False, True]


class AskingFinder:
    """Asks all finders what they find, and changes nothing, as tools that rewrite modules do."""

    @staticmethod
    def find_spec(fullname: str, path: object, target: object = None) -> object:
        for finder in sys.meta_path:
            others: Any = finder
            spec = None if others is AskingFinder else others.find_spec(fullname, path, target)
            if spec is not None:
                return spec
        return None


def test_a_finder_of_the_program_may_ask_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "asked_test.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    imported = ImportedFiles()
    with imported.noting():
        monkeypatch.setattr(sys, "meta_path", [sys.meta_path[0], AskingFinder, *sys.meta_path[1:]])
        importlib.import_module("asked_test")
    assert str(tmp_path / "asked_test.py") in imported._noted
