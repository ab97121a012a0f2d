"""Which extension module ibmmq and pymqi find: theirs, if IBM's client is installed, or ours.

This module knows the names, and nothing of what lies behind them.
"""

from __future__ import annotations

import sys
from importlib import import_module

from adapter.errors import StartError

MODULES = (("ibmmq", "ibmmqc"), ("pymqi", "pymqe"))
"""Packages, and the extension modules that they look for inside themselves first."""


def install() -> None:
    """Have ibmmq and pymqi use this client in this process, also where IBM's client is installed.

    Without a call they do so where IBM's client is not installed. To be called before either is
    imported. Raises StartError if one was imported already, with IBM's client.
    """
    for package, extension in MODULES:
        ours = import_module(extension)
        inside = f"{package}.{extension}"
        loaded = sys.modules.get(package)
        found = getattr(loaded, extension, ours)
        if found is not ours:
            raise StartError(
                f"{package} was imported before adapter.mqi.install() was called, and uses IBM's "
                "client: call it first"
            )
        sys.modules[inside] = ours
