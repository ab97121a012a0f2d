"""Figures and states as MQSC shows them."""

import adapter
from adapter.administration import status
from adapter.errors import PutInhibited


def test_topics_that_differ_by_a_separator_are_two(qm: adapter.Connection) -> None:
    qm.define_object("topic", "LED", topic_string="/lead/x", publish="DISABLED")
    qm.define_object("topic", "PLAIN", topic_string="lead/x", publish="ENABLED")
    qm.define_object("topic", "BEHIND", topic_string="lead/x/", publish="DISABLED")
    shown = {one.name: one.values for one in status.topics(qm, "#")}
    for topic, name in (("/lead/x", "LED"), ("lead/x", "PLAIN"), ("lead/x/", "BEHIND")):
        assert shown[topic]["topic_object"] == name
        try:
            qm.publish(topic, "x")
            published = "ENABLED"
        except PutInhibited:
            published = "DISABLED"
        assert shown[topic]["publish"] == published, "as core does"
        assert [one.name for one in status.topics(qm, topic)] == [topic]
