"""Places against a sorted list."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adapter.core.contract.message import MessageData, Place
from adapter.core.contract.stored import Stored
from adapter.core.model.places import _COMPACT_AT, Places
from tests.support.examples import examples

PLACES = st.tuples(st.integers(-2, 0), st.integers(1, 12), st.integers(0, 2))


def at(place: Place) -> Stored:
    return Stored(
        message=MessageData(),
        place=place,
        unit=b"",
        unit_index=0,
        unit_size=1,
        queue_unit_index=0,
        queue_unit_size=1,
    )


@settings(max_examples=examples(150))
@given(st.lists(st.tuples(st.sampled_from(["add", "remove", "first"]), PLACES), max_size=60))
def test_it_is_a_sorted_list(steps: list[tuple[str, Place]]) -> None:
    places = Places()
    model: dict[Place, Stored] = {}
    for step, place in steps:
        if step == "add" and place not in model:
            model[place] = at(place)
            places.add(model[place])
        elif step == "remove" and place in model:
            places.remove(model.pop(place))
        elif step == "first" and model:
            first = places.first()
            assert first is model.pop(min(model))
            places.remove(first)
        in_order = [model[key] for key in sorted(model)]
        assert list(places) == in_order
        assert len(places) == len(model)
        assert places.first() is (in_order[0] if in_order else None)
        for count in (1, 2, 3):
            assert places.head(count) == (in_order[:count] if len(in_order) >= count else [])
        assert list(places.after(place)) == [each for each in in_order if each.place > place]


def test_a_long_queue_is_compacted_and_stays_in_order() -> None:
    places = Places()
    stored = [at((0, seq, 0)) for seq in range(3 * _COMPACT_AT)]
    for each in stored:
        places.add(each)
    for each in stored[: 2 * _COMPACT_AT]:
        places.remove(each)
    assert list(places) == stored[2 * _COMPACT_AT :]
    places.add(stored[0])
    assert places.first() is stored[0]
    assert len(places) == _COMPACT_AT + 1
    assert len(places._items) < 2 * _COMPACT_AT + 2, "taken slots do not pile up"


def test_what_is_not_there_cannot_be_removed() -> None:
    places = Places()
    places.add(at((0, 1, 0)))
    for place in ((0, 0, 0), (0, 1, 0), (0, 2, 0)):
        with pytest.raises(ValueError, match="no message at"):
            places.remove(at(place))
    assert len(places) == 1


@settings(max_examples=examples(100))
@given(st.sets(PLACES, min_size=1, max_size=30), st.data())
def test_several_are_removed_at_once(chosen: set[Place], data: st.DataObject) -> None:
    places = Places()
    for place in chosen:
        places.add(at(place))
    found = list(places)
    gone = [one for one in found if data.draw(st.booleans())] or found[:1]
    places.remove_all(gone)
    assert list(places) == [one for one in found if one not in gone]


@settings(max_examples=examples(100))
@given(st.sets(PLACES, min_size=1, max_size=30), st.data())
def test_several_are_added_at_once(chosen: set[Place], data: st.DataObject) -> None:
    places = Places()
    come = []
    for place in sorted(chosen):
        if data.draw(st.booleans()):
            come.append(at(place))
        else:
            places.add(at(place))
    if data.draw(st.booleans()) and (first := places.first()) is not None:
        places.remove(first)
        chosen.remove(first.place)
    if come:
        places.add_all(come)
    assert [one.place for one in places] == sorted(chosen)


def test_what_is_behind_the_first_ones() -> None:
    places = Places()
    for seq in range(1, 7):
        places.add(at((0, seq, 0)))
    for stored in places:
        stored.message.body, stored.length = b"four", 4
    assert [one.place[1] for one in places.behind(2, 1_000)] == [3, 4, 5, 6]
    assert [one.place[1] for one in places.behind(5, 5)] == [3, 4, 5, 6]
    assert [one.place[1] for one in places.behind(0, 0)] == [1, 2, 3, 4, 5, 6]
    assert list(places.behind(9, 1_000)) == []
