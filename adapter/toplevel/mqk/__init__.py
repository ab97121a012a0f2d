"""`import mqk` is `import adapter`: the same module by the name of the distribution.

Submodules too: mqk.msmq is adapter.msmq, in whichever order they are imported. Nothing is loaded
twice, so types and exceptions of one name are those of the other.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING

import adapter

if TYPE_CHECKING:
    from adapter import *  # noqa: F403
    from adapter import kafka as kafka
    from adapter import localkafka as localkafka
    from adapter import mqi as mqi
    from adapter import msmq as msmq
    from adapter import servicebroker as servicebroker
    from adapter import testing as testing

HERE = "mqk."


class Submodules(MetaPathFinder, Loader):
    """Finds mqk.NAME as adapter.NAME."""

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return where a module of ours is; None for all others, which other finders know."""
        return ModuleSpec(fullname, self) if fullname.startswith(HERE) else None

    def exec_module(self, module: ModuleType) -> None:
        """Import the module of adapter, and put it in the place of the empty one."""
        name = module.__name__
        try:
            sys.modules[name] = importlib.import_module(f"adapter.{name.removeprefix(HERE)}")
        except ModuleNotFoundError as problem:
            if problem.name is not None and problem.name.startswith("adapter."):
                problem.name = HERE + problem.name.removeprefix("adapter.")
            raise


sys.meta_path.insert(0, Submodules())
sys.modules[__name__] = adapter
