"""Put and get on the mqk that is installed, and print which code did it: a test of a wheel.

    python -P tests/compiled/installed.py [COMPILED]

COMPILED: how many modules must run as machine code; as many as can be, if it is not given. Needs
nothing but what mqk requires: no Kafka, no pytest.
"""

import runpy
import sys
from pathlib import Path

from adapter import testing
from adapter.core import dispatch
from adapter.host import compiled

TOP = Path(__file__).parents[2]


def main() -> None:
    """Run it."""
    given = sys.argv[1:]
    wanted = int(given[0]) if given else hot_modules()
    with testing.queue_manager() as manager, manager.connect() as qm:
        qm.define_queue("ORDERS")
        with qm.unit():
            qm.put("ORDERS", "7 gadgets", priority=3)
            qm.put("ORDERS", "42 widgets", priority=7, properties={"colour": "größer"})
        with qm.unit() as unit:
            assert qm.get("ORDERS") is not None
            unit.backout()
        with qm.unit():
            found = [qm.get("ORDERS"), qm.get("ORDERS")]
        assert [(one.text, one.backout_count, one.properties) for one in found if one] == [
            ("42 widgets", 1, {"colour": "größer"}),
            ("7 gadgets", 0, {}),
        ]
        runs = qm.figures()["compiled_modules"]
    assert runs == compiled.count() == wanted, f"{runs} modules are compiled, not {wanted}"
    assert Path(str(dispatch.__file__)).suffix == (".so" if wanted else ".py")
    assert "mypy_extensions" not in sys.modules
    print(compiled.text(runs), dispatch.__file__)


def hot_modules() -> int:
    """How many modules the checkout of this file would compile."""
    modules = runpy.run_path(str(TOP / "native" / "modules.py"))
    return len(modules["compiled"](TOP))


if __name__ == "__main__":
    main()
