"""Starting a process of mqk's: what it imports, and what it does without."""

import subprocess

import pytest

from adapter.host import launch

SEEN = """
import gc, sys
from adapter.host import program
main = program.load({module!r})
assert main is sys.modules[{module!r}].main
assert gc.isenabled()
assert not {{"rich", "twisted"}} & sys.modules.keys()
import rich
import structlog.twisted
"""


@pytest.mark.parametrize("module", ["adapter.server.main", "adapter.storage.movers.process"])
def test_what_draws_tracebacks_is_not_imported_and_can_be(module: str) -> None:
    done = subprocess.run(
        launch.python("-c", SEEN.format(module=module)),
        check=False, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == ""
    assert done.returncode == 0
