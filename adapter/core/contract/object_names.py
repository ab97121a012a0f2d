"""Names of objects: their characters, and which names mean something."""

from __future__ import annotations

import re
from typing import Final

NAME: Final = re.compile(r"[A-Za-z0-9._/%]+")
SYSTEM: Final = "SYSTEM."
GENERATED: Final = re.compile(r".*[0-9A-F]{16}")
"""What a name ends in that the queue manager has made, see Numbers.new_name_digits."""
