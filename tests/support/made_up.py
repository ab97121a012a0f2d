"""Made-up messages and records, for hypothesis: everything that core may let through."""

import json
from typing import Any

from hypothesis import strategies as st

from adapter.core.contract import records as r
from adapter.core.contract.broker_header import BrokerHeader
from adapter.core.contract.channel_rules import ChannelRule
from adapter.core.contract.details import FLAGS, OFFSET_MAX, Details
from adapter.core.contract.message import ID_LENGTH, MessageData
from adapter.core.contract.msmq_header import MsmqHeader
from adapter.core.contract.transmission import Transmission
from adapter.core.rules.messages.put import EXPIRY_MAX_MS, GROUP_SEQ_MAX
from adapter.core.rules.objects.session import NUMBER_MAX
from adapter.storage.format import entries, schemas

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
    putter=texts(64),
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


def _by_schema(node: Any) -> st.SearchStrategy[Any]:
    """What a field of a record may hold, as the schema of the entry says; see FIELDS."""
    if isinstance(node, list):
        return st.one_of([_by_schema(one) for one in node])
    kind = node["type"] if isinstance(node, dict) else node
    if kind == "array":
        return st.lists(_by_schema(node["items"]), max_size=8)
    if kind == "map":
        return st.dictionaries(texts(20), _by_schema(node["values"]), max_size=3)
    if kind == "enum":
        return st.sampled_from(node["symbols"])
    name = str(node["name"] if kind in ("record", "fixed") else kind).removeprefix("mqk.")
    return FIELDS[name] if name in FIELDS else _struct(name, node)


FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "null": st.none(),
    "boolean": st.booleans(),
    "int": NUMBERS | st.sampled_from([-(2**31), 2**31 - 1]),
    "long": st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-(2**63), 2**63 - 1]),
    "string": texts(48) | st.sampled_from(["", "\0", "\U0001f600" * 48]),
    "Id16": SESSIONS,
    "Id24": IDS,
    "Put": PLACED,
    "Taken": TAKEN,
    "OutcomeOf": OUTCOMES,
}
"""What has no fields, or others than in the schema."""
KINDS = {kind.__name__: kind for kind in (*r.Record.__args__, *entries.NESTED, ChannelRule)}


def _struct(name: str, node: dict[str, Any]) -> st.SearchStrategy[Any]:
    fields = {field["name"]: _by_schema(field["type"]) for field in node["fields"]}
    return st.builds(KINDS[name], **fields)


def _written() -> dict[str, st.SearchStrategy[Any]]:
    """Each record that an entry can hold, by its name."""
    nodes = json.loads(schemas.schema_text("entry"))["fields"][0]["type"]["items"]
    others = {node["name"]: node for node in nodes if node["name"] != r.UnitCommitted.__name__}
    found = {name: _struct(name, node) for name, node in others.items()}
    return found | {r.UnitCommitted.__name__: UNITS}


WRITTEN = _written()
RECORDS = st.one_of(list(WRITTEN.values()))
"""Everything that an entry can hold: made from its schema, so that a new field is made up too."""
