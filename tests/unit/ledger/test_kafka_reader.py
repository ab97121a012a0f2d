"""What readers of a ledger on Kafka make of failures that their broker has no code for."""

from adapter.ledger.kafka_reader import PERSISTS_S, Persisting

STEP_S = PERSISTS_S / 4


def fails(persisting: Persisting, *reads: tuple[float, int]) -> list[bool]:
    return [persisting.fails(offset, now_s) for now_s, offset in reads]


def test_a_failure_that_meets_every_read_of_an_offset_persists() -> None:
    reads = [(100 + STEP_S * n, 7) for n in range(5)]
    assert fails(Persisting(), *reads) == [False] * 4 + [True]


def test_a_failure_that_passes_does_not() -> None:
    assert fails(Persisting(), (100, 7), (100 + PERSISTS_S + 0.1, 7)) == [False, False]
    assert fails(Persisting(), (0, 7), (3, 7), (3.1, 8), (6, 8)) == [False] * 4
    assert fails(Persisting(), (0, 0), (PERSISTS_S, 0)) == [False, True]
