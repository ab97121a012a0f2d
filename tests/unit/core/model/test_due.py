"""What becomes due: in the order of its times, and without a place for what is over."""

from adapter.core.model.due import SWEEP_AT, Heap


def test_what_is_due_is_taken_out_in_order() -> None:
    heap: Heap[tuple[int, str]] = Heap()
    for time_ms in (30, 10, 20, 40):
        heap.push((time_ms, "a"), lambda _: True)
    assert [time_ms for time_ms, _ in heap.due(30)] == [10, 20, 30]
    assert list(heap.due(30)) == []
    assert list(heap) == [(40, "a")]


def test_what_becomes_due_meanwhile_is_taken_out_too() -> None:
    heap: Heap[tuple[int, str]] = Heap()
    heap.push((10, "first"), lambda _: True)
    met = []
    for _, name in heap.due(10):
        met.append(name)
        if name == "first":
            heap.push((5, "second"), lambda _: True)
    assert met == ["first", "second"]


def test_what_is_over_takes_no_room() -> None:
    heap: Heap[tuple[int, int]] = Heap()
    for number in range(10 * SWEEP_AT):
        heap.push((number, number), lambda one: one[1] % 100 == 0)
    assert len(heap) <= SWEEP_AT
    assert [one for one, _ in heap.due(SWEEP_AT)][:3] == [0, 100, 200]


def test_what_is_noted_again_and_again_takes_one_place() -> None:
    heap: Heap[tuple[int, str]] = Heap()
    for _ in range(2 * SWEEP_AT):
        heap.push((10, "a"), lambda _: True)
    assert len(heap) <= SWEEP_AT


def test_what_is_ahead_is_kept_however_much_it_is() -> None:
    heap: Heap[tuple[int, int]] = Heap()
    for number in range(3 * SWEEP_AT, 0, -1):
        heap.push((number, number), lambda _: True)
    assert [one for one, _ in heap.due(3 * SWEEP_AT)] == list(range(1, 3 * SWEEP_AT + 1))
