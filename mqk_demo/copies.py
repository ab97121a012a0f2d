"""How many messages have been copied to the queues' topics, as the queue manager's /metrics says.

The checker does not rely on it.
"""

from __future__ import annotations

import re
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.request import ProxyHandler, build_opener

from mqk_demo.errors import DemoError

TIMEOUT_S = 20.0
"""For a queue manager on a loaded machine to answer."""
COPIED = re.compile(r'^mqk_mover_copied_total\{mover="stream"\} (\S+)$', re.MULTILINE)


def count_copies(monitor: str) -> int:
    """How many messages are copied; 0 until the mover of a queue manager that started has a figure.

    monitor: the URL at which the queue manager is monitored. DemoError if it does not answer.
    """
    direct = build_opener(ProxyHandler({}))  # whatever proxies the user has set: it is loopback
    try:
        with direct.open(f"{monitor}/metrics", timeout=TIMEOUT_S) as answer:
            page = answer.read().decode()
    except (OSError, HTTPException, UnicodeDecodeError) as problem:
        if isinstance(problem, HTTPError):
            problem.close()  # it is an answer too
        raise DemoError(
            f"the queue manager's figures at {monitor}/metrics cannot be read: {problem}"
        ) from problem
    figure = COPIED.search(page)
    return 0 if figure is None else int(float(figure[1]))
