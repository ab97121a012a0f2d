"""Names by which a put reaches a queue, and names that look like one and do not."""

import adapter

TOPIC_COPY, TOPIC_BESIDE = "WAYS.COPY", "WAYS.BESIDE"

WAYS: dict[str, tuple[str, str, bool]] = {
    "its name": ("{queue}", "", True),
    "its name and queue manager": ("{queue}", "{here}", True),
    "an alias": ("WAYS.ALIAS", "", True),
    "an alias of the queue manager": ("{queue}", "WAYS.HOME", True),
    "an alias, and one of the queue manager": ("WAYS.ALIAS", "WAYS.HOME", True),
    "an alias of a topic with its subscription": (TOPIC_COPY, "", True),
    "that alias, and one of the queue manager": (TOPIC_COPY, "WAYS.HOME", True),
    "an alias of a topic without": (TOPIC_BESIDE, "", False),
    "another queue": ("WAYS.OTHER", "", False),
    "an alias of another queue": ("WAYS.OTHER.ALIAS", "", False),
    "another queue, by the queue manager's alias": ("WAYS.OTHER", "WAYS.HOME", False),
    "its name at another queue manager": ("{queue}", "WAYS.FAR", False),
    "a remote queue of its name": ("WAYS.REMOTE", "", False),
}
"""Name, queue manager, and whether a put by them reaches the queue."""


def define_ways(qm: adapter.Connection, queue: str) -> None:
    """Define what WAYS names, for a local queue."""
    qm.define_queue("WAYS.OTHER")
    qm.define_queue("WAYS.FAR", usage="XMITQ")
    qm.define_object("alias", "WAYS.ALIAS", target=queue)
    qm.define_object("alias", "WAYS.OTHER.ALIAS", target="WAYS.OTHER")
    qm.define_object("remote", "WAYS.HOME", remote_queue_manager=qm.name)
    qm.define_object("remote", "WAYS.REMOTE", remote_name=queue, remote_queue_manager="WAYS.FAR")
    for topic, destination in ((TOPIC_COPY, queue), (TOPIC_BESIDE, "WAYS.OTHER")):
        qm.define_object("topic", topic, topic_string=topic)
        qm.define_object("subscription", topic, topic_object=topic, destination=destination)
        qm.define_object("alias", topic, target=topic, target_type="TOPIC")


def way(label: str, queue: str, here: str) -> tuple[str, str, bool]:
    """Return name, queue manager and truth of a way to a queue of the queue manager here."""
    name, queue_manager, is_reached = WAYS[label]
    return name.format(queue=queue), queue_manager.format(here=here), is_reached
