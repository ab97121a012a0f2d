"""The figures of a server that runs, for tests of what shows them."""

from typing import Any

from adapter.runtime.owner.figures import OwnerFigures, TermFigures
from adapter.server.process.figures import RoleFigures, ServerFigures

TERM = TermFigures(
    **dict.fromkeys(set(TermFigures.__struct_fields__) - {"undone", "commits"}, 0),
    commits=7,
    undone={},
)
ROLE = RoleFigures(role="owner")


def server_figures(**fields: Any) -> ServerFigures:
    """Return those of a server that runs, with these instead."""
    usual: dict[str, Any] = {
        "queue_manager": "QM1",
        "connections": 2,
        "owner": OwnerFigures(state="running", terms=1, replay_s=0.25, term=TERM),
        "log_lines_dropped": 0,
        "version": "1.2.3",
        "compiled_modules": 0,
        "uptime_s": 1.0,
        "address": "127.0.0.1:1414",
        "process": {},
        "kafka": "",
        "authorities_checked": False,
        "mover_restarts": 0,
        "movers": {"stream": {"lag_records": 3, "copied": 9}, "events": {"lag_records": 0}},
        "movers_hold": "",
        "movers_parked": {},
        "roles": ROLE,
    }
    return ServerFigures(**usual | fields)
