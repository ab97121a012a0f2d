"""Any objects that are defined together are defined by a dump of them, without a refusal."""

from contextlib import suppress
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import adapter.testing
from adapter.administration import objects
from adapter.administration.kinds import DEFINED
from adapter.administration.mqsc.dump import definitions
from adapter.administration.mqsc.execute import run
from adapter.administration.mqsc.written import Problem
from adapter.client.connection import Connection
from adapter.errors import Error
from tests.support.attribute_samples import given_rows, needed, samples
from tests.support.examples import examples

Definition = tuple[str, str, dict[str, Any]]
TOPICS = ("a", "a/b")
"""Of topics and of subscriptions, so that they meet."""
FORBIDDING: list[dict[str, Any]] = [{}, {"subscribe": "DISABLED"}, {"durable": "NO"}]
"""Of topics: rare among all values, and what matters where they meet."""


def joined(*parts: dict[str, Any]) -> dict[str, Any]:
    return {name: value for part in parts for name, value in part.items()}


def of_kind(word: str) -> st.SearchStrategy[Definition]:
    kind = DEFINED[word]
    values = [(row.name, value) for row in given_rows(kind.given) for value in samples(row)]
    given_values = st.lists(st.sampled_from(values), max_size=3).map(dict)
    name = st.sampled_from([f"{word}.1", f"{word}.2"])
    own = {"destination": "Q"} if word == "SUB" else needed(kind.kind)
    topic = st.sampled_from([{"topic_string": one} for one in TOPICS])
    meeting = topic if word in ("TOPIC", "SUB") else st.just({})
    forbidding = st.sampled_from(FORBIDDING) if word == "TOPIC" else st.just({})
    attributes = st.builds(lambda *parts: joined(own, *parts), given_values, meeting, forbidding)
    return st.tuples(st.just(word), name, attributes)


KINDS = [one for one in DEFINED if one != "QMGR"]
ANY = st.one_of(of_kind("TOPIC"), of_kind("SUB"), *map(of_kind, KINDS))


def dumped(qm: Connection) -> str:
    lines = list(definitions(qm))
    assert not [one for one in lines if isinstance(one, Problem)]
    return "\n".join(str(one) for one in lines if "is dynamic" not in str(one))


@settings(max_examples=examples(100))
@given(st.lists(ANY, max_size=12))
def test_what_is_defined_together_is_defined_again(definitions_of: list[Definition]) -> None:
    with adapter.testing.queue_manager("QM1") as one, one.connect() as qm:
        qm.define_queue("Q")
        for word, name, attributes in definitions_of:
            with suppress(Error):
                objects.define(qm, DEFINED[word], name, attributes, replace=True)
        script = dumped(qm)
    with adapter.testing.queue_manager("QM1") as other, other.connect() as qm:
        assert "No command failed" in run(qm, script), script
        assert dumped(qm) == script
