"""What topic objects say of a place in the tree."""

from adapter.core.contract import commands as c
from adapter.core.rules.network.topic_attributes import EffectiveAttributes, effective
from tests.support.core import Client, Core


def test_what_the_nearest_object_says_holds(client: Client, core: Core) -> None:
    above = {"topic_string": "a", "def_priority": 5, "def_persistence": "NO", "durable": "NO"}
    client.do(c.DefineObject("topic", "A", above))
    client.do(c.DefineObject("topic", "C", {"topic_string": "a/b/c", "def_priority": 7}))
    qm = core.qm
    assert effective(qm, "a/b/c/d") == EffectiveAttributes(7, "NO", durable="NO")
    assert effective(qm, "a/b") == EffectiveAttributes(5, "NO", durable="NO")
    assert effective(qm, "ab") == EffectiveAttributes()
    client.do(c.AlterObject("topic", "SYSTEM.BASE.TOPIC", {"subscribe": "DISABLED"}))
    assert effective(qm, "ab") == EffectiveAttributes(subscribe="DISABLED")
    client.do(c.AlterObject("topic", "C", {"topic_string": "x"}))
    assert effective(qm, "a/b/c") == EffectiveAttributes(
        5, "NO", subscribe="DISABLED", durable="NO"
    )
    assert effective(qm, "x").def_priority == 7
    client.do(c.DeleteObject("topic", "A"))
    core.crash_with_snapshot()
    assert effective(core.qm, "a/b") == EffectiveAttributes(subscribe="DISABLED")
    assert effective(core.qm, "x").def_priority == 7
