"""By which names a program connects, unless it says others. This module knows no connection."""

from __future__ import annotations

import getpass
import os
import sys
from pathlib import Path

from adapter.connection.channel import arguments as a

APPLICATION_LENGTH_MAX = 64
USER_LENGTH_MAX = 64


def own_name() -> str:
    """Name this program: its file, or its package if it was started by python -m; else Python."""
    path = Path(sys.argv[0] if getattr(sys, "argv", None) else "")
    name = path.parent.name if path.name == "__main__.py" else path.name
    is_file = name not in ("", "-c", "-m", "-")
    return (name if is_file and name.isprintable() else "python")[:APPLICATION_LENGTH_MAX]


def own_user() -> str:
    """Name the user that this program runs as; "" where the system knows no name."""
    named = os.environ.get("MQK_USER", "")
    if named:
        return a.as_text("MQK_USER", named, USER_LENGTH_MAX)
    try:
        known = getpass.getuser()[:USER_LENGTH_MAX]
    except (OSError, KeyError, ImportError):
        return ""
    return known.encode("utf-8", "replace").decode()  # a name of the system may be any bytes
