"""Made-up messages and records, for hypothesis: everything that core may let through."""

from hypothesis import strategies as st

from adapter.core.attributes.queue import QUEUE_ATTRIBUTES
from adapter.core.attributes.table import DEPTH_MAX, AttributeRow
from adapter.core.contract import records as r
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.channel_rules import ChannelRule, ChannelRuleSet
from adapter.core.contract.details import FLAGS, OFFSET_MAX, Details
from adapter.core.contract.message import ID_LENGTH, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.core.rules.messages.put import EXPIRY_MAX_MS, GROUP_SEQ_MAX
from adapter.core.rules.objects.session import NUMBER_MAX

TIME_MAX_MS = 2**53
LONG_MAX = 2**63 - 1


def texts(length: int) -> st.SearchStrategy[str]:
    """Texts of at most so many characters, as UTF-8 can carry them."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=length)


IDS = st.binary(min_size=ID_LENGTH, max_size=ID_LENGTH)
SESSIONS = st.binary(min_size=16, max_size=16)
QUEUES = st.text(st.sampled_from("ABQ019._/%"), min_size=1, max_size=48)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
PROPERTY_VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    texts(40),
    st.binary(max_size=40),
)
PROPERTIES = st.none() | st.dictionaries(
    texts(20).filter(bool), PROPERTY_VALUES, min_size=1, max_size=5
)

DETAILS = st.builds(
    Details,
    accounting_token=st.just(b"") | st.binary(min_size=32, max_size=32),
    identity_data=texts(32),
    appl_type=NUMBERS,
    origin_data=texts(4),
    offset=st.integers(0, OFFSET_MAX),
    flags=st.integers(0, FLAGS),
    original_length=st.integers(-1, 2**31 - 1),
    priority_asked=st.integers(-1, 2**31 - 1),
    put_date_time=texts(16),
)
TRANSMISSIONS = st.builds(
    Transmission, queue=texts(124), queue_manager=texts(48), computer=texts(255)
)
TIMES = st.integers(0, TIME_MAX_MS)
PATHS = texts(255)
MSMQ_HEADERS = st.builds(
    MsmqHeader,
    label=texts(249),
    app_specific=st.integers(0, 2**32 - 1),
    body_type=st.integers(0, 2**32 - 1),
    extension=st.binary(max_size=300),
    message_class=st.integers(0, 2**16 - 1),
    acknowledge=st.integers(0, 15),
    journal=st.integers(0, 15),
    recoverable=st.booleans(),
    transactional=st.booleans(),
    destination=PATHS,
    administration_queue=PATHS,
    response_queue=PATHS,
    dead_letter_queue=PATHS,
    source=PATHS,
    sent_ms=TIMES,
    reach_ms=st.just(-1) | TIMES,
    receive_by_ms=TIMES,
    move_count=st.integers(0, 2**31 - 1),
    unit=st.just(b"") | IDS,
    unit_index=st.integers(0, 10_000),
    unit_size=st.integers(0, 10_000),
)
GUIDS = SESSIONS
BROKER_HEADERS = st.builds(
    BrokerHeader,
    handle=st.just(b"") | GUIDS,
    conversation=GUIDS,
    sequence=st.integers(0, LONG_MAX),
    message_type=texts(128),
    validation=st.sampled_from("ENX"),
    status=st.integers(0, 3),
    service=texts(128),
    contract=texts(128),
    from_service=texts(128),
    from_queue_manager=texts(48),
    from_initiator=st.booleans(),
    lifetime_ms=st.integers(0, TIME_MAX_MS),
)
MESSAGES = st.builds(
    MessageData,
    body=st.binary(max_size=300),
    message_id=IDS,
    correlation_id=IDS,
    group_id=IDS,
    group_seq=st.integers(1, GROUP_SEQ_MAX),
    last_in_group=st.booleans(),
    priority=st.integers(0, 9),
    persistence=st.just(1),
    expiry_ms=st.just(-1) | st.integers(1, EXPIRY_MAX_MS),
    format=texts(8),
    message_type=st.sampled_from([1, 2, 4, 8]) | st.integers(65_536, 999_999_999),
    report=NUMBERS,
    feedback=NUMBERS,
    encoding=NUMBERS,
    ccsid=NUMBERS,
    reply_to=texts(48),
    reply_to_queue_manager=texts(48),
    user=texts(64),
    application=texts(64),
    properties=PROPERTIES,
    put_time_ms=st.integers(0, TIME_MAX_MS),
    expires_at_ms=st.integers(0, TIME_MAX_MS),
    details=st.none() | DETAILS,
    deliver_at_ms=st.just(0) | st.integers(1, TIME_MAX_MS),
    destination=st.just("") | QUEUES,
    transmission=st.none() | TRANSMISSIONS,
    msmq=st.none() | MSMQ_HEADERS,
    broker=st.none() | BROKER_HEADERS,
)
COUNTS = st.integers(0, 10_000)
SEQS = st.integers(1, LONG_MAX)
PLACED = st.builds(
    r.Placed,
    queue=QUEUES,
    lane=st.integers(0, 9),
    seq=SEQS,
    n=st.just(0),
    index=COUNTS,
    queue_index=COUNTS,
    queue_size=COUNTS,
    message=MESSAGES,
)
TAKEN = st.builds(r.Taken, queue=QUEUES, lane=st.integers(0, 9), seq=SEQS)
OUTCOMES = st.builds(
    r.OutcomeOf,
    session=SESSIONS,
    number=st.integers(1, NUMBER_MAX),
    seen=st.lists(st.integers(1, NUMBER_MAX), max_size=8),
)
UNITS = st.builds(
    r.UnitCommitted,
    unit=IDS,
    size=COUNTS,
    puts=st.lists(PLACED, max_size=4),
    gets=st.lists(TAKEN, max_size=4),
    verb=st.sampled_from(["commit", "put", "get"]),
    outcome=st.none() | OUTCOMES,
)


def _value_of(row: AttributeRow) -> st.SearchStrategy[object]:
    if row.choices:
        return st.sampled_from(row.choices)
    if row.type is bool:
        return st.booleans()
    if row.type is int:
        return st.integers(row.attribute.low, row.attribute.high)
    return texts(row.attribute.length or 0)


ATTRIBUTES = st.fixed_dictionaries(
    {}, optional={name: _value_of(row) for name, row in QUEUE_ATTRIBUTES.items()}
)
OTHERS = st.one_of(
    st.builds(r.DelayedExpired, queue=QUEUES, places=st.lists(TAKEN, max_size=4)),
    st.builds(
        r.DelaysRestored,
        queue=QUEUES,
        entries=st.lists(st.integers(0, LONG_MAX), max_size=8),
    ),
    st.builds(r.DeliveryCounted, gets=st.lists(TAKEN, max_size=4)),
    st.builds(r.BackoutCounted, gets=st.lists(TAKEN, max_size=4), outcome=st.none() | OUTCOMES),
    st.builds(
        r.MessagesDiscarded,
        places=st.lists(TAKEN, max_size=4),
        cause=st.sampled_from(["expired", "purged"]),
    ),
    st.builds(
        r.QueueDefined, name=QUEUES, incarnation=st.integers(0, 2**31 - 1), attributes=ATTRIBUTES
    ),
    st.builds(r.QueueAltered, name=QUEUES, attributes=ATTRIBUTES),
    st.builds(r.QueueDeleted, name=QUEUES),
    st.builds(r.SessionOpened, session=SESSIONS, time_ms=st.integers(0, TIME_MAX_MS)),
    st.builds(
        ChannelRuleSet,
        rule=st.builds(
            ChannelRule, profile=QUEUES, kind=st.just("BLOCKUSER"), users=st.lists(QUEUES)
        ),
        is_gone=st.booleans(),
    ),
    st.builds(r.SessionBound, session=SESSIONS, user=QUEUES),
    st.builds(r.SessionExpired, session=SESSIONS),
    st.builds(r.UnitFenced, unit=st.binary(min_size=24, max_size=24)),
    st.builds(r.OutcomeRecorded, outcome=OUTCOMES, count=st.integers(0, DEPTH_MAX)),
    st.builds(
        r.EventRaised,
        kind=texts(30),
        name=QUEUES,
        time_ms=st.integers(0, TIME_MAX_MS),
        details=st.dictionaries(texts(20), texts(50), max_size=3),
    ),
    st.builds(
        r.ConversationSet,
        handle=GUIDS,
        conversation=GUIDS,
        group=GUIDS,
        queue=texts(140),
        service=texts(128),
        far_service=texts(128),
        far_queue_manager=texts(48),
        contract=texts(128),
        is_initiator=st.booleans(),
        priority=st.integers(1, 10),
        lifetime_ms=st.integers(0, TIME_MAX_MS),
        timer_ms=st.integers(0, TIME_MAX_MS),
        sent=st.integers(0, LONG_MAX),
        is_ended=st.booleans(),
        far=st.integers(0, 2),
    ),
    st.builds(r.ConversationGone, handle=GUIDS),
    st.builds(
        r.RowsRestored,
        handle=GUIDS,
        rows=st.lists(st.integers(-(2**61), 2**56), max_size=8),
        retained=st.lists(SEQS, max_size=8),
    ),
    st.builds(r.ReceiveNoted, queue=texts(140), unit=IDS, has_ended=st.booleans()),
)
RECORDS = UNITS | OTHERS
