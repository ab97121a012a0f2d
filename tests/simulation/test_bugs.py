"""What the simulation is worth: bugs are planted in copies of the package, and all are found."""

from pathlib import Path

import pytest

from tests.simulation import bugs
from tests.support.examples import few

LEAST = 15
PLANTED = few(bugs.patches(), 40)


def test_every_patch_applies() -> None:
    for patch in bugs.patches():
        bugs.applied(patch)


@pytest.mark.parametrize("patch", PLANTED, ids=lambda patch: patch.stem)
def test_a_planted_bug_is_found(patch: Path, tmp_path: Path) -> None:
    bugs.planted(patch, tmp_path)
    judged = bugs.judged(tmp_path, bugs.arguments_of(patch))
    assert judged.returncode == 1, f"{patch.name} was not found: {judged.stdout}{judged.stderr}"
    assert judged.stdout.startswith("seed "), judged.stdout + judged.stderr
    found = judged.stdout.split(":")[1].strip()
    assert found not in bugs.NO_FINDS, (
        f"{patch.name} no longer fits what it changes: {judged.stdout}"
    )


def test_there_are_enough_of_them() -> None:
    assert len(bugs.patches()) >= LEAST


def test_each_says_what_it_breaks() -> None:
    for patch in bugs.patches():
        assert patch.read_text().partition("\n")[0].endswith("."), patch


def test_a_patch_that_no_longer_applies_says_so(tmp_path: Path) -> None:
    patch = tmp_path / "old.patch"
    lines = (
        "It.",
        "--- a/adapter/host/launch.py",
        "+++ b/adapter/host/launch.py",
        "@@",
        "-gone",
        "+new",
        "",
    )
    patch.write_text("\n".join(lines))
    with pytest.raises(
        bugs.Outdated, match=r"old.patch no longer applies: adapter/host/launch.py holds"
    ):
        bugs.planted(patch, tmp_path / "copy")
