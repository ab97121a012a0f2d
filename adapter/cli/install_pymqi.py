"""mqk install-pymqi: the package pymqi, without the part that needs IBM's client."""

from __future__ import annotations

import tempfile
from pathlib import Path

import click

from adapter.mqi import pymqi_files


@click.command("install-pymqi")
@click.option("--version", metavar="X.Y.Z", help="Which release; by default the newest.")
@click.option(
    "--sdist",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A source distribution on this machine; nothing is downloaded.",
)
@click.option(
    "--target", metavar="FOLDER", type=click.Path(file_okay=False, path_type=Path),
    help="Install into this folder instead of the current environment.",
)  # fmt: skip
def install_pymqi(version: str | None, sdist: Path | None, target: Path | None) -> None:
    """Install pymqi's Python files into the current environment.

    pymqi has no wheels, and its source distribution needs IBM's headers to be built. This installs
    only its Python files; the extension module that they look for comes with mqk. It is taken out
    again with `pip uninstall pymqi`. (ibmmq needs none of this: `pip install ibmmq`.)
    """
    with tempfile.TemporaryDirectory(prefix="mqk-pymqi-") as folder:
        found = sdist or pymqi_files.download(Path(folder), version)
        wheel = pymqi_files.make_wheel(found, Path(folder))
        pymqi_files.install(wheel, target)
        click.echo(f"installed {wheel.name.removesuffix('-py3-none-any.whl')}")
