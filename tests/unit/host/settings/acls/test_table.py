"""Which rights each role has, by what it works with."""

import msgspec
import pytest

from adapter.host.settings.acls.table import QUEUE_MANAGER, ROLES, AclNeeds, entries

BARE = AclNeeds(queue_manager="QM1", network=False)


def shown(role: str, needs: AclNeeds) -> dict[str, tuple[str, ...]]:
    """The operations by resource and name; a prefix ends with a star."""
    return {
        f"{one.resource} {one.name}{'*' if one.is_prefix else ''}": one.operations
        for one in entries(role, needs)
    }


def test_a_queue_manager_needs_its_own_topics_ids_and_groups() -> None:
    assert shown(QUEUE_MANAGER, BARE) == {
        "Topic mq.QM1.*": ("Create", "DescribeConfigs", "Write", "Read", "Delete", "Alter"),
        "TransactionalId mq.QM1.*": ("Write",),
        "Group mqk-*": ("Describe",),
    }


@pytest.mark.parametrize(
    ("needs", "more"),
    [
        ({"network": True}, {"Topic mq.directory"}),
        ({"schema_topic": "_s"}, {"Topic _s"}),
        ({"peers": ("A.B",)}, {"Topic mq.A-oB.in.QM1"}),
        ({"feed_topics": ("t", "u")}, {"Topic t", "Topic u", "Group mqk-QM1-*"}),
        ({"export_topics": ("t",)}, {"Topic t"}),
    ],
)
def test_what_it_works_with_adds_rights(needs: dict[str, object], more: set[str]) -> None:
    found = shown(QUEUE_MANAGER, msgspec.structs.replace(BARE, **needs))
    assert found.keys() - shown(QUEUE_MANAGER, BARE).keys() == more


def test_no_prefix_is_that_of_another_queue_manager() -> None:
    own = entries(QUEUE_MANAGER, BARE)[0]
    assert own.name == "mq.QM1."
    for other in ("QM1.X", "QM1/X", "QM1_X", "QM12"):
        assert not entries(QUEUE_MANAGER, AclNeeds(queue_manager=other))[0].name.startswith(
            own.name
        )


def test_the_other_roles_may_do_little() -> None:
    needs = AclNeeds(
        queue_manager="QM1", schema_topic="_schemas", peers=("QM2",), queues=("Q.A",),
        groups=("g",),
    )  # fmt: skip
    assert shown("network-peer", needs) == {"Topic mq.QM1.in.QM2": ("Write",)}
    assert shown("inbound-writer", needs) == {"Topic mq.QM1.in": ("Write",)}
    assert shown("reader", needs) == {"Topic mq.QM1.q.Q.A": ("Read",), "Group g": ("Read",)}
    assert shown("spark", needs) == {
        "Topic mq.QM1.q.*": ("Read",),
        "Group mqk-spark": ("Describe",),
    }
    assert shown("registry", needs) == {
        "Topic _schemas": ("Create", "DescribeConfigs", "Write", "Read"),
        "Group mqk-*": ("Describe",),
    }


def test_each_right_says_what_it_is_for() -> None:
    needs = AclNeeds(
        queue_manager="QM1", schema_topic="_s", peers=("P",), feed_topics=("t",),
        export_topics=("u",), queues=("Q",), groups=("g",),
    )  # fmt: skip
    for role in ROLES:
        assert all(right.purpose for one in entries(role, needs) for right in one.rights)
