"""mqk install-pymqi."""

from pathlib import Path

from tests.unit.cli.conftest import Mqk
from tests.unit.mqi.test_pymqi_files import FILES, sdist


def test_a_distribution_that_is_here(mqk: Mqk, tmp_path: Path) -> None:
    source = sdist(tmp_path, FILES)
    said = mqk("install-pymqi", "--sdist", str(source), "--target", str(tmp_path / "there"))
    assert said.status == 0, said.err
    assert said.out == "installed pymqi-9.8\n"
    assert (tmp_path / "there" / "pymqi" / "__init__.py").exists()


def test_a_distribution_that_is_none(mqk: Mqk, tmp_path: Path) -> None:
    source = tmp_path / "pymqi-1.tar.gz"
    source.write_bytes(b"")
    said = mqk("install-pymqi", "--sdist", str(source))
    assert said.status == 1
    assert "cannot be read" in said.err
