"""Which schema a body names, and what is said of a body in no frame, or in another one."""

import pytest

from adapter.errors import InvalidSchema, NotAvro
from adapter.registry.frame import FRAME, ID_MAX, MAGIC, parse, schema_id_of


@pytest.mark.parametrize("schema_id", [1, 7, ID_MAX])
def test_a_body_names_its_schema(schema_id: int) -> None:
    assert schema_id_of(FRAME.pack(MAGIC, schema_id)) == schema_id


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"", "empty"),
        (b"plain text", "begins with 706c61696e"),
        (b"\0\0\0", "standard frame"),
        (b"\x03\x00" + bytes(16), "AWS Glue"),
        (b"\x01" + bytes(16), "GUID"),
        (b"\0" + bytes(8), "names schema 0"),
        (b"\0\xff\xff\xff\xff", "names schema 4294967295"),
    ],
)
def test_a_body_in_no_frame_says_why(body: bytes, why: str) -> None:
    with pytest.raises(NotAvro, match=why):
        schema_id_of(body)


@pytest.mark.parametrize("text", ["", "{", "[]x", "17", '{"type": "record"}', '"nothing"'])
def test_what_is_no_schema_is_refused_by_its_name(text: str) -> None:
    with pytest.raises(InvalidSchema, match=r"^the schema of A is not a valid Avro schema: "):
        parse(text, "the schema of A")
