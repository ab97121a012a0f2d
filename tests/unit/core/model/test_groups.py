"""Whether groups and segmented messages are whole says what is there, and not what has been."""

from collections.abc import Iterator

from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from adapter.core.contract.details import IN_GROUP, LAST_SEGMENT, SEGMENT, Details
from adapter.core.contract.message import NO_ID, MessageData, Place
from adapter.core.contract.stored import Stored
from adapter.core.model.groups import Groups, member_of
from adapter.core.model.lane import Lane
from adapter.core.model.views import View
from tests.support.examples import examples

LANES = 2
IDS = (NO_ID, b"1" * 24, b"2" * 24)


@st.composite
def messages(draw: st.DrawFn) -> MessageData:
    """A message of a few groups, whole or a segment: many are put twice, and some in vain."""
    group_id = draw(st.sampled_from(IDS))
    message = MessageData(body=b"x" * draw(st.integers(1, 2)), group_id=group_id)
    if group_id == NO_ID:
        return message
    flags = draw(st.sampled_from((0, 0, SEGMENT, SEGMENT | LAST_SEGMENT)))
    in_group = not flags or draw(st.booleans())
    message.details = Details(flags=flags | IN_GROUP * in_group)
    if flags:
        message.details.offset = draw(st.integers(0, 2))
    if in_group:
        message.group_seq = draw(st.integers(1, 3))
        message.last_in_group = draw(st.booleans())
    return message


class Queue:
    """What a store does to a watch: each step as the store does it, and in its order."""

    def __init__(self) -> None:
        self.lanes = [Lane(number) for number in range(LANES)]
        self.stored: dict[Place, Stored] = {}
        self.paged: dict[Place, Stored] = {}
        self.groups = Groups(self.stored)
        self.groups.begin(self.lanes)
        self.seq = 0

    def put(self, message: MessageData, lane: int) -> None:
        self.seq += 1
        stored = Stored(message, (-lane, self.seq, 0), b"", 0, 1, 0, 1)
        self.stored[stored.place] = stored
        self.lanes[lane].add(stored)
        self.groups.added(stored)

    def get(self, stored: Stored) -> None:
        del self.stored[stored.place]
        self.lanes[-stored.place[0]].remove(stored)
        self.groups.removed(stored)

    def page_out(self, stored: Stored) -> None:
        lane = self.lanes[-stored.place[0]]
        lane.remove(stored)
        lane.page_out([stored])
        del self.stored[stored.place]
        self.paged[stored.place] = stored
        self.groups.paged_out(stored)

    def page_in(self, stored: Stored) -> None:
        lane = self.lanes[-stored.place[0]]
        lane.page_in_all([stored])
        del self.paged[stored.place]
        self.stored[stored.place] = stored
        self.groups.paged_in(stored)
        lane.add(stored)

    def expire_in_a_page(self, stored: Stored) -> None:
        self.groups.paged_in(stored)
        self.groups.removed(stored)
        self.lanes[-stored.place[0]].page_in(stored.place[1])
        del self.paged[stored.place]

    def anew(self) -> Groups:
        """A watch that begins now, and reads what is not in memory."""
        fresh = Groups(self.stored)
        fresh.begin(self.lanes)
        for lane in self.lanes:
            page = [one for one in self.paged.values() if -one.place[0] == lane.number]
            fresh.read(lane, self.seq, sorted(page, key=lambda one: one.place))
        return fresh


def places(view: View) -> tuple[list[Place], list[Place]]:
    """What a view has in memory, and what it knows by number."""
    paged = [(-lane, seq, 0) for lane, seqs in view.paged.items() for seq in seqs]
    return [stored.place for stored in view.loaded], sorted(paged)


def shown(groups: Groups, queue: Queue) -> Iterator[object]:
    yield from map(places, groups.views())
    for stored in (*queue.stored.values(), *queue.paged.values()):
        member = member_of(stored.message)
        yield groups.is_whole_message(member), groups.is_whole_group(member)


STEPS = st.tuples(
    st.sampled_from(("put", "put", "put", "get", "get", "page out", "page in", "expire")),
    st.integers(0, 1_000),
    messages(),
)


@settings(max_examples=examples(200), phases=[Phase.generate])
@given(st.lists(STEPS, min_size=1, max_size=40))
def test_a_watch_that_has_seen_everything_shows_what_a_new_one_does(
    steps: list[tuple[str, int, MessageData]],
) -> None:
    queue = Queue()
    for what, pick, message in steps:
        there, paged = list(queue.stored.values()), list(queue.paged.values())
        if what == "put":
            queue.put(message, pick % LANES)
        elif what == "get" and there:
            queue.get(there[pick % len(there)])
        elif what == "page out" and there:
            queue.page_out(there[pick % len(there)])
        elif what == "page in" and paged:
            queue.page_in(paged[pick % len(paged)])
        elif what == "expire" and paged:
            queue.expire_in_a_page(paged[pick % len(paged)])
        assert list(shown(queue.groups, queue)) == list(shown(queue.anew(), queue))


def test_a_segment_that_is_there_twice_counts_once() -> None:
    queue = Queue()
    first = MessageData(b"ab", group_id=b"1" * 24, details=Details(flags=SEGMENT))
    last = MessageData(b"cd", group_id=b"1" * 24, details=Details(flags=SEGMENT | LAST_SEGMENT))
    assert last.details is not None
    last.details.offset = 2
    for message in (first, first, last):
        queue.put(message, 0)
    again = list(queue.stored.values())[1]
    assert [one.place[1] for one in queue.groups.messages.loaded] == [1]
    queue.get(next(iter(queue.stored.values())))
    assert [one.place for one in queue.groups.messages.loaded] == [again.place]
