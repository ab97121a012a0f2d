"""Whether a body is what its message type demands: empty, well-formed XML, or XML of a schema.

Bodies come from anybody. Each check opens no file and no connection, refuses document type
declarations, and takes time and memory in proportion to the body. This module must not know
queues, message types, or where schemas are kept.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, Literal

from lxml import etree

Validation = Literal["NONE", "EMPTY", "WELL_FORMED_XML", "VALID_XML"]

SCHEMA_BYTES_MAX = 1 << 20
SCHEMAS_KEPT = 32  # compiled, the ones used last
PARTICLES_MAX = 1_000  # elements of one content model, with the groups in it
CHUNK_BYTES = 4096  # of a body that is checked by a schema, until the first mismatch
JOINS_MAX = 2 * 10**9  # bytes of one text, times the pieces that it is parsed in: 20 ms
FEW_REFERENCES = 100  # in one text, which need not be written otherwise
REFERENCES = (
    (b"&lt;", b"<"),
    (b"&gt;", b">"),
    (b"&quot;", b'"'),
    (b"&apos;", b"'"),
    (b"&amp;", b"&"),
)
LONG_TEXT = re.compile(rb"<[^<]{%d}" % math.isqrt(JOINS_MAX))
CDATA = re.compile(rb"<!\[CDATA\[.*?\]\]>", re.DOTALL)
OTHER_REFERENCE = re.compile(rb"&(?!(?:lt|gt|quot|apos|amp);)")
BETWEEN_TAGS = re.compile(rb"[^<]+(?:<[!?][^<]*)*")
TEXTS = re.compile(
    rb"""(<!\[CDATA\[.*?\]\]>|<!--.*?-->|<\?.*?\?>"""
    rb"""|<[^!?<>"'][^<>"']*+(?:(?:"[^"]*+"|'[^']*+')[^<>"']*+)*+>)"""
    rb"""([^<]*+)""",
    re.DOTALL,
)
"""Of a well-formed document: what is no text, and the text behind it."""
LINE_END = b"\n"
NOT_OF_SCHEMA = "the body does not match the schema of its message type"
CAUSE_LENGTH_MAX = 300  # what the parser says may quote the body at length

XS = "{http://www.w3.org/2001/XMLSchema}"
OUTSIDE = ("import", "include", "redefine", "override")
MARKS = ((b"\xef\xbb\xbf", "UTF-8"), (b"\xff\xfe", "UTF-16LE"), (b"\xfe\xff", "UTF-16BE"))
UTF16_NAMES = frozenset({"utf-16", "utf-16le", "utf-16be", "ucs-2"})
NAMES = {"UTF-8": frozenset({"utf-8"}), "UTF-16LE": UTF16_NAMES, "UTF-16BE": UTF16_NAMES}
# Encodings of which an XML declaration may be the only sign.
DECLARED_ENCODINGS = re.compile(
    r"us-ascii|iso-8859-\d{1,2}|windows-125[0-8]|koi8-[ru]"
    r"|shift_jis|euc-jp|euc-kr|gb2312|gbk|gb18030|big5"
)
DECLARATION = re.compile(
    rb"""<\?xml\s+version\s*=\s*(?:"1\.[0-9]"|'1\.[0-9]')"""
    rb"""(?:\s+encoding\s*=\s*["'](?P<encoding>[A-Za-z][A-Za-z0-9._-]{0,40})["'])?"""
    rb"""(?:\s+standalone\s*=\s*["'](?:yes|no)["'])?\s*\?>"""
)


class _InvalidError(Exception):
    """The text says what is wrong with a body or a schema."""


class _ParserError(_InvalidError):
    """What the parser found; code is libxml2's."""

    def __init__(self, code: int, line: int, cause: str) -> None:
        self.code = code
        super().__init__(f"line {line}: {_short(cause)}")


class _Reader:
    """A target that keeps nothing of what is parsed."""

    def doctype(self, *_: str | None) -> None:
        raise _InvalidError("it has a document type declaration (<!DOCTYPE>), which is refused")

    def close(self) -> None:
        """The end of the document."""


def check_schema(schema: str) -> None:
    """Check that a text is an XML schema that is complete in itself.

    Raises ValueError, with the line and the cause. A pattern in a schema that can match the same
    value in many ways makes checks slow: up to a second for each value that does not match.
    """
    _compile_schema(schema)


def why_invalid(validation: Validation, schema: str, body: bytes) -> str:
    """Say why a body is not valid; the empty text if it is.

    An empty body is valid under each validation, as in SQL Server, which receives it as NULL.
    WELL_FORMED_XML accepts what SQL Server casts to xml: a document, or a fragment with any number
    of elements and text at the top. VALID_XML demands one document; schema is its XML schema.
    The encoding is UTF-8, UTF-16 or what an XML declaration says. UTF-16 without a byte order mark
    is recognized by its first character, if that is below U+0100. Raises ValueError for an
    unknown validation, or a schema that check_schema refuses.
    """
    if validation not in ("NONE", "EMPTY", "WELL_FORMED_XML", "VALID_XML"):
        raise ValueError(f"{validation} is not a validation of message types")
    if not body or validation == "NONE":
        return ""
    if validation == "EMPTY":
        return f"the body must be empty, and has {len(body)} bytes"
    try:
        if validation == "VALID_XML":
            text = _utf8(body)
            _check_document(text)
            return _why_against_schema(_compile_schema(schema), text)
        _check_fragment(_utf8(body))
    except _InvalidError as fault:
        return f"the body is not well-formed XML: {fault}"
    return ""


def _check_document(text: bytes) -> None:
    """Parse a document in UTF-8 without keeping it."""
    parser = _parser(target=_Reader())
    try:
        etree.fromstring(text, parser)
    except etree.XMLSyntaxError as error:
        raise _first_error(parser.error_log) or _ParserError(0, 1, error.msg or "") from None
    fault = _first_error(parser.error_log)  # undeclared prefixes: the parser goes on after them
    if fault:
        raise fault


def _check_fragment(text: bytes) -> None:
    """Parse a document or a fragment in UTF-8 without keeping it."""
    try:
        _check_document(text)
    except _ParserError as fault:
        codes = etree.ErrorTypes
        if fault.code not in (codes.ERR_DOCUMENT_EMPTY, codes.ERR_DOCUMENT_END):
            raise
        _check_document(b"<fragment>%b</fragment>" % text)


def _why_against_schema(schema: Any, text: bytes) -> str:
    """Say why a well-formed document does not match a schema; the empty text if it does."""
    text = text.replace(b"\r\n", b"\n")
    if _is_slow(text):
        text = TEXTS.sub(_in_one_piece, text)
    if _is_slow(text):
        return "the body has a long text with too many references or comments to check it"
    chunks = [text[at : at + CHUNK_BYTES] for at in range(0, len(text), CHUNK_BYTES)]
    found = _first_mismatch(schema, chunks)
    if not found:
        return ""
    at = found[0] * CHUNK_BYTES  # the parser has no lines here: the chunk once more, by lines
    again = _first_mismatch(schema, [text[:at], *text[at : at + CHUNK_BYTES].splitlines(True)])
    line, cause = again or (1, found[1])
    return f"{NOT_OF_SCHEMA}: line {text[:at].count(LINE_END) + line}: {_short(cause)}"


def _first_mismatch(schema: Any, chunks: Iterable[bytes]) -> tuple[int, str] | None:
    """Return the number of the first chunk with a mismatch, and the mismatch. The rest is not read.

    Nothing of the document is kept: errors by the thousand would take more memory than the body.
    """
    parser = _parser(target=_Reader(), schema=schema)
    number = 0
    try:
        for number, chunk in enumerate(chunks):
            parser.feed(chunk)
            for entry in parser.feed_error_log:
                if entry.domain == etree.ErrorDomains.SCHEMASV:
                    return number, entry.message
        parser.close()
    except etree.XMLSyntaxError as error:
        return number, error.msg or ""
    return None


def _in_one_piece(part: re.Match[bytes]) -> bytes:
    """Write a text with many references as one CDATA section, which says the same: of a text in
    pieces the parser copies all that it has for each of them.
    """
    before, text = part[1], part[2]
    if text.count(b"&") <= FEW_REFERENCES or OTHER_REFERENCE.search(text):
        return part[0]
    for reference, character in REFERENCES:  # that of & last: what it makes is no reference
        text = text.replace(reference, character)
    return b"%b<![CDATA[%b]]>" % (before, text.replace(b"]]>", b"]]]]><![CDATA[>"))


def _is_slow(text: bytes) -> bool:
    """Whether the parser would join a long text from many pieces, each time copying it."""

    def is_long(part: bytes, pieces: bytes) -> bool:
        count = pieces.count(b"&") + pieces.count(b"<") + pieces.count(b"\r")
        return len(part) * count > JOINS_MAX

    def is_slow(part: bytes) -> bool:
        return is_long(part, part) and is_long(part, CDATA.sub(b"<", part))

    if not is_long(text, text) or not _may_be_slow(text):
        return False
    return any(is_slow(part[0]) for part in BETWEEN_TAGS.finditer(text))


def _may_be_slow(text: bytes) -> bool:
    """Whether any text between two tags, with all that is no tag, is long enough to be slow: it has
    no more pieces than bytes. To look at each text by itself would take a step of Python.
    """
    joined = text.replace(b"<!", b"  ").replace(b"<?", b"  ")
    return LONG_TEXT.search(joined) is not None


@lru_cache(maxsize=SCHEMAS_KEPT)
def _compile_schema(schema: str) -> Any:
    """Compile a schema, which any thread may use. Raises ValueError."""
    try:
        return _compile(schema)
    except _InvalidError as fault:
        raise ValueError(f"this is not a usable XML schema: {fault}") from None


def _compile(schema: str) -> Any:
    """Compile a schema, which refers to no other one. Raises _InvalidError."""
    try:
        text = _without_declaration(schema.encode())
    except UnicodeEncodeError:
        raise _InvalidError("it has half of a surrogate pair") from None
    if len(text) > SCHEMA_BYTES_MAX:
        raise _InvalidError(f"it has {len(text):,} bytes, and may have {SCHEMA_BYTES_MAX:,}")
    _check_document(text)
    root = etree.fromstring(text, _parser(remove_comments=True, remove_pis=True))
    if root.tag != f"{XS}schema":
        raise _ParserError(
            0, root.sourceline, f"the top element is {root.tag}, and must be {XS}schema"
        )
    for part in root.iterchildren(*(XS + name for name in OUTSIDE)):
        what = etree.QName(part).localname
        cause = f"xs:{what} is refused: a schema must be complete in itself"
        raise _ParserError(0, part.sourceline, cause)
    _check_sizes(root)
    try:
        return etree.XMLSchema(root)
    except etree.XMLSchemaParseError as error:
        raise _first_error(error.error_log) or _ParserError(0, 1, str(error)) from None


def _check_sizes(root: Any) -> None:
    """Refuse what takes long to compile: groups of groups of groups, and very long sequences."""
    groups = {group.get("name"): group for group in root.iterchildren(f"{XS}group")}
    sizes: dict[str, int] = {}

    def size(part: Any) -> int:
        named = (particle.get("ref") for particle in _particles(part))
        return sum(size_of(name.rpartition(":")[2]) if name else 1 for name in named)

    def size_of(name: str) -> int:
        if name not in sizes:
            sizes[name] = 0  # a group within itself is refused by the parser
            sizes[name] = size(groups[name]) if name in groups else 1
        return sizes[name]

    for part in root.iter(f"{XS}complexType", f"{XS}group"):
        if size(part) > PARTICLES_MAX:
            cause = f"a content model has more than {PARTICLES_MAX:,} elements"
            raise _ParserError(0, part.sourceline, cause)


def _particles(part: Any) -> Iterator[Any]:
    """The elements, wildcards and references to groups of one content model."""
    for child in part:
        if child.tag in (f"{XS}element", f"{XS}any", f"{XS}group"):
            yield child
        else:
            yield from _particles(child)


def _parser(**options: Any) -> Any:
    """Return a parser of documents in UTF-8 that opens nothing and keeps the parser's limits."""
    return etree.XMLParser(
        encoding="utf-8",
        no_network=True,
        resolve_entities=False,
        load_dtd=False,
        dtd_validation=False,
        attribute_defaults=False,
        huge_tree=False,
        **options,
    )


def _first_error(log: Any) -> _ParserError | None:
    """Return the first error of a log, or None if the log has at most warnings."""
    for entry in log.filter_from_errors():
        if entry.type == etree.ErrorTypes.WAR_NS_URI:  # SQL Server accepts any text as a namespace
            continue
        return _ParserError(entry.type, entry.line, entry.message)
    return None


def _short(cause: str) -> str:
    """One line of what the parser says."""
    line = " ".join(cause.split())
    return line if len(line) <= CAUSE_LENGTH_MAX else f"{line[:CAUSE_LENGTH_MAX]}..."


def _utf8(body: bytes) -> bytes:
    """Return a body's text in UTF-8, without mark and XML declaration. Raises _InvalidError."""
    encoding, mark = _encoding(body)
    text = body[mark:]
    if encoding != "UTF-8":
        text = _decode(text, encoding)
    declaration = DECLARATION.match(text)
    declared = (declaration["encoding"] or b"").decode().lower() if declaration else ""
    if declared and declared not in NAMES[encoding]:
        if encoding != "UTF-8" or mark or not DECLARED_ENCODINGS.fullmatch(declared):
            cause = f"the XML declaration says {declared}, but the text is {encoding}"
            raise _ParserError(0, 1, cause)
        text = _decode(text, declared)
    return _without_declaration(text)


def _encoding(body: bytes) -> tuple[str, int]:
    """Return the encoding that a body's first bytes show, and the length of its mark."""
    for mark, encoding in MARKS:
        if body.startswith(mark):
            return encoding, len(mark)
    if body[1:2] == b"\0" != body[:1]:
        return "UTF-16LE", 0
    if body[:1] == b"\0" != body[1:2]:
        return "UTF-16BE", 0
    return "UTF-8", 0


def _decode(text: bytes, encoding: str) -> bytes:
    """Return a text in UTF-8. Raises _InvalidError."""
    try:
        return text.decode(encoding).encode()
    except (UnicodeDecodeError, LookupError) as error:
        raise _InvalidError(f"it is not {encoding}: {_short(str(error))}") from None


def _without_declaration(text: bytes) -> bytes:
    """Replace a text's XML declaration by as many lines."""
    declaration = DECLARATION.match(text)
    if not declaration:
        return text
    return b"\n" * declaration[0].count(b"\n") + text[declaration.end() :]
