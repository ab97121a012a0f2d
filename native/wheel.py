"""The wheel with compiled modules: a hook that hatchling calls for each wheel it builds.

MQK_COMPILE=1 makes a wheel for one platform, which has the hot modules as machine code beside their
sources. Without it the wheel is pure Python, and for every platform. An editable installation is
never compiled: `make compiled` is what developers use.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SWITCH = "MQK_COMPILE"
COMPILED = Path("build/compiled")
EDITABLE = "editable"


class CompiledWheel(BuildHookInterface[Any]):
    """Adds the compiled modules to the wheel, if they are wanted."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """What compiling needs: the compiler that is tested, and the types of our libraries."""
        if not is_wanted(os.environ):
            return []
        pinned = tested("mypy", Path(self.root, "constraints.txt").read_text(encoding="utf-8"))
        return [pinned, "setuptools", *self.metadata.core.dependencies]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the extension modules and the platform."""
        if not is_wanted(os.environ) or version == EDITABLE:
            return
        if subprocess.run([sys.executable, "-m", "native"], cwd=self.root, check=False).returncode:
            sys.exit(f"mqk was not compiled: see above, or install without {SWITCH} (pure Python)")
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"] |= extensions(Path(self.root, COMPILED))


def is_wanted(environment: Mapping[str, str]) -> bool:
    """Whether the environment asks for compiled modules."""
    value = environment.get(SWITCH, "")
    if value not in ("", "0", "1"):
        sys.exit(f"Invalid {SWITCH}={value}: 1 compiles the hot modules, 0 does not")
    return value == "1"


def tested(name: str, constraints: str) -> str:
    """Return the requirement of a tool in the version that is tested."""
    found = re.search(rf"^{name}==[^\s\\]+", constraints, re.MULTILINE)
    return found.group() if found else name


def extensions(folder: Path) -> dict[str, str]:
    """Return the extension modules in a folder, and the place of each in the wheel."""
    found = sorted([*folder.glob("*.so"), *folder.joinpath("adapter").rglob("*.so")])
    return {str(path): str(path.relative_to(folder)) for path in found}
