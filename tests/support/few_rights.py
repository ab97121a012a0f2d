"""A queue manager that checks authorities, and a connection of a user with few of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import adapter
from adapter import testing
from adapter.server.access import credentials
from tests.drivers import Driver
from tests.support.passwords import hash_cheaply


def users_of(tmp_path: Path) -> dict[str, Any]:
    """The options of a queue manager that checks what the user ann may do."""
    credentials.write(tmp_path / "users", {"ann": hash_cheaply("secret")})
    checked = {"credentials_file": tmp_path / "users", "authorities": True}
    return checked | {"unix_path": tmp_path / "socket"}


@contextmanager
def as_ann(
    driver: Driver, tmp_path: Path, *granted: str, **attributes: Any
) -> Iterator[tuple[adapter.Connection, adapter.Connection]]:
    """Connect as an operator and as ann, who may do this with queue Q, and put to FAILED."""
    with (
        testing.queue_manager("QM1", **users_of(tmp_path)) as manager,
        adapter.connect(f"unix:{tmp_path / 'socket'}") as operator,
    ):
        operator.define_queue("FAILED")
        operator.define_queue("Q", **attributes)
        operator.set_authority("SELF", "qmgr", users=["ann"], add=["connect"])
        operator.set_authority("Q", users=["ann"], add=[*granted])
        operator.set_authority("FAILED", users=["ann"], add=["put"])
        with driver.connect(manager.address, user="ann", password="secret") as ann:
            yield operator, ann
