"""A correction of PySpark 4.0 with a pyarrow that takes no floats for whole numbers.

With state and data in one batch of Arrow, PySpark pads the shorter column with nulls; pandas makes
floats of numbers among nulls, and PySpark cuts the data by them. Every process that reads such
batches imports the module of the function that gets them: that module calls apply_correction().
"""

from __future__ import annotations

from typing import Any

import pyarrow
from pyspark.sql.pandas import serializers

NUMBERS = ("startOffset", "numRows")


def apply_correction() -> None:
    """Make whole numbers of those that say where a group's rows lie; twice is no error."""
    serializer = getattr(serializers, "ApplyInPandasWithStateSerializer", None)
    before = getattr(serializer, "arrow_to_pandas", None)
    if serializer is None or before is None or getattr(before, "__module__", "") == __name__:
        return  # from Spark 4.2 on it reads such batches otherwise, and needs none of this

    def arrow_to_pandas(self: Any, arrow_column: Any, *rest: Any, **named: Any) -> Any:
        found = before(self, arrow_column, *rest, **named)
        kind = arrow_column.type
        is_state = pyarrow.types.is_struct(kind) and kind.get_field_index(NUMBERS[0]) >= 0
        return found.map(as_whole) if is_state else found

    serializer.arrow_to_pandas = arrow_to_pandas


def as_whole(value: Any) -> Any:
    """A group's place with whole numbers; anything else as it is."""
    if isinstance(value, dict) and set(NUMBERS) <= value.keys() and value[NUMBERS[0]] is not None:
        return {**value, **{name: int(value[name]) for name in NUMBERS}}
    return value
