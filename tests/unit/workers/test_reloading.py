"""Files that are watched for a reload."""

import importlib
import os
import sys
from pathlib import Path

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
