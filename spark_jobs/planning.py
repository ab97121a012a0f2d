"""What Spark tells a Python source when it plans micro-batches, from Spark 4.2 on.

Earlier releases know neither read limits nor an end of what is available now. This module knows
which Spark has what; it must not know how anything is read.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

MODULE = "pyspark.sql.streaming.datasource"
_SPARK: Any = import_module(MODULE) if find_spec(MODULE) else None

AvailableNow: Any = _SPARK.SupportsTriggerAvailableNow if _SPARK else object
"""A source whose queries of what is available now take several micro-batches; object before 4.2."""
Limit = Any
"""A read limit of Spark's."""


def limit_of(count: int) -> Limit:
    """The limit of so many rows a micro-batch; 0: none."""
    return _SPARK.ReadMaxRows(count) if count else _SPARK.ReadAllAvailable()


def rows_of(limit: Limit) -> int:
    """How many rows a limit allows; 0: as many as there are."""
    return int(getattr(limit, "max_rows", 0))
