"""Files that are watched for a reload."""

import os
from pathlib import Path

from adapter.workers.reloading import WatchedFiles


def test_a_file_that_changes_comes_or_goes_is_noticed(tmp_path: Path) -> None:
    file, missing = tmp_path / "a.py", tmp_path / "b.py"
    file.write_text("1")
    for change in (lambda: os.utime(file, (1, 1)), file.unlink, lambda: missing.write_text("2")):
        watch = WatchedFiles()
        watch.add([str(file), str(missing)])
        assert not watch.has_changed()
        change()
        watch.add([str(file), str(missing)])
        assert watch.has_changed()
