"""The header of a record between queue managers: written and read as its schema says."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from adapter.storage.format import transfer
from adapter.storage.format.schemas import Codec, LaterReleaseError, UnreadableError
from adapter.storage.format.transfer import Transfer

NAMES = st.text(max_size=48)
LONGS = st.integers(0, 2**62)
TRANSFERS = st.builds(
    Transfer,
    queue_manager=NAMES,
    ident=NAMES,
    queue=NAMES,
    incarnation=st.integers(0, 2**31 - 1),
    lane=st.integers(0, 9),
    n=LONGS,
    lowest=st.lists(st.tuples(LONGS, LONGS, LONGS), max_size=4).map(
        lambda lanes: [one for lane in lanes for one in lane]
    ),
    session=st.binary(max_size=16),
    part=st.integers(0, 4_999),
    parts=st.integers(5_000, 10_000),
    behind=st.just([]) | st.lists(LONGS, min_size=3, max_size=3),
)
FAST = settings(max_examples=50)


@FAST
@given(TRANSFERS)
def test_it_is_written_as_the_schema_says_and_read_as_written(header: Transfer) -> None:
    data = transfer.encode_header(header)
    assert data == Codec("transfer", transfer.VERSION).encode(structs.asdict(header))
    assert transfer.decode_header(data) == header


@FAST
@given(TRANSFERS)
def test_what_earlier_releases_wrote_is_read(header: Transfer) -> None:
    """They name no message before a unit."""
    written = structs.replace(header, behind=[])
    fields = structs.asdict(written)
    del fields["behind"]
    assert transfer.decode_header(Codec("transfer.1").encode(fields)) == written


@FAST
@given(TRANSFERS)
def test_an_earlier_release_knows_that_a_later_one_wrote_it(header: Transfer) -> None:
    """It waits for an upgrade; nothing is a dead letter."""
    with pytest.raises(LaterReleaseError):
        Codec("transfer.1").decode(transfer.encode_header(header))


@FAST
@given(TRANSFERS, st.data())
def test_a_header_that_was_cut_off_is_refused(header: Transfer, data: st.DataObject) -> None:
    whole = transfer.encode_header(header)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(UnreadableError):
        transfer.decode_header(whole[:cut])
