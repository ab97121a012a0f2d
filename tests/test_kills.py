"""Every test is in each run or in a target that names its folder; a long form has a short one."""

from pathlib import Path

import pytest

from tests.conftest import NAMED_ONLY, TESTS
from tests.kills.__main__ import RESULTS
from tests.kills.parts import HERE, PARTS, Part

TOP = TESTS.parent
MAKEFILE = (TOP / "Makefile").read_text()


def test_every_long_form_is_in_one_part() -> None:
    files = sorted(str(one.relative_to(TOP)) for one in (TOP / HERE).glob("test_*.py"))
    assert sorted(file for part in PARTS.values() for file in part.files()) == files


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_has_short_forms_that_every_run_has(part: Part) -> None:
    assert part.short
    for name in part.short:
        assert (TOP / name).is_file(), name
        assert not any((TOP / name).is_relative_to(folder) for folder in NAMED_ONLY), name


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_a_part_runs_modules_that_are_there(part: Part) -> None:
    for module, *_ in part.commands:
        path = TOP / Path(*module.split("."))
        assert module == "pytest" or path.is_dir() or path.with_suffix(".py").is_file(), module


@pytest.mark.parametrize("folder", NAMED_ONLY, ids=lambda folder: folder.name)
def test_a_folder_that_is_run_by_its_name_is_named(folder: Path) -> None:
    named = (f"tests/{folder.name}", f"tests.{folder.name}", "docker/test")
    assert any(name in MAKEFILE for name in named)


def test_the_results_are_of_parts() -> None:
    rows = [line.split("|") for line in RESULTS.read_text().splitlines() if line.startswith("| ")]
    names = [row[1].strip() for row in rows][1:]
    assert len(set(names)) == len(names)
    assert set(names) <= set(PARTS)
