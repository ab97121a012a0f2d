"""Text and integers from one representation to another: byte order and character set.

This module knows no structure and no message.
"""

from __future__ import annotations

from contextlib import suppress

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.character_sets import UTF_16, Order, codec_of

INTEGERS_MASK = 15  # MQENC_INTEGER_MASK
ORDERS: dict[int, Order] = {1: ">", 2: "<"}  # MQENC_INTEGER_NORMAL, MQENC_INTEGER_REVERSED
SUBSTITUTE = "\x1a"
"""In EBCDIC the codecs write it as 0x3F."""


class ConversionError(Exception):
    """Data stay as they are. reason: the code of the warning that says why."""

    def __init__(self, reason: int) -> None:
        super().__init__(reason)
        self.reason = reason


class Representation(Struct, frozen=True):
    """How data are written down: the numbers MQENC and CCSID of an MQMD or of a header."""

    encoding: int
    ccsid: int

    @property
    def order(self) -> Order | None:
        """The byte order of integers; None if the encoding does not say."""
        return ORDERS.get(self.encoding & INTEGERS_MASK)


class Conversion:
    """From one representation to another: integers and text. Raises ConversionError.

    source, target: the byte orders of both. Without integers (text only) an encoding may be one
    that is not known.
    """

    def __init__(
        self, source: Representation, target: Representation, integers: bool = True
    ) -> None:
        self.source = source
        self.target = target
        if source.order is None and (integers or source.ccsid in UTF_16):
            raise ConversionError(mq.MQRC_SOURCE_INTEGER_ENC_ERROR)
        if target.order is None and (integers or target.ccsid in UTF_16):
            raise ConversionError(mq.MQRC_TARGET_INTEGER_ENC_ERROR)
        self.source_order: Order = source.order or "<"
        self.target_order: Order = target.order or "<"
        encoder = codec_of(target.ccsid, self.target_order)
        self._decoder(source.ccsid)
        if encoder is None:
            raise ConversionError(mq.MQRC_TARGET_CCSID_ERROR)
        self._encoder = encoder

    def read(self, raw: bytes, ccsid: int = 0) -> str:
        """Decode text. ccsid: its own character set; 0 and below: that of the source."""
        try:
            return raw.decode(self._decoder(ccsid if ccsid > 0 else self.source.ccsid))
        except UnicodeError as error:
            raise ConversionError(mq.MQRC_NOT_CONVERTED) from error

    def text(self, raw: bytes, ccsid: int = 0) -> bytes:
        """Convert text, whatever length it has then."""
        return self._encode(self.read(raw, ccsid))

    def field(self, raw: bytes) -> bytes:
        """Convert a text in a field of fixed length.

        What follows a NUL, and blanks at the end, may be dropped where the text has become longer.
        """
        head, nul, _ = raw.partition(b"\0")
        text = self.read(head)
        whole = self._encode(text)
        if len(whole) > len(raw):
            whole = self._encode(text.rstrip(" "))
        if len(whole) > len(raw):
            raise ConversionError(mq.MQRC_CONVERTED_STRING_TOO_BIG)
        return whole.ljust(len(raw), nul or self.blank)

    @property
    def blank(self) -> bytes:
        """What fields and strings are filled up with; a NUL where a blank has several bytes."""
        blank = self._encode(" ")
        return blank if len(blank) == 1 else b"\0"

    def _decoder(self, ccsid: int) -> str:
        codec = codec_of(ccsid, self.source_order)
        if codec is None:
            raise ConversionError(mq.MQRC_SOURCE_CCSID_ERROR)
        return codec

    def _encode(self, text: str) -> bytes:
        """Encode text. A character that the target lacks becomes its SUB, as on MQ."""
        with suppress(UnicodeError):
            return text.encode(self._encoder)
        lacking = {ord(one): SUBSTITUTE for one in set(text) if not self._has(one)}
        try:
            return text.translate(lacking).encode(self._encoder)
        except UnicodeError as error:
            raise ConversionError(mq.MQRC_NOT_CONVERTED) from error

    def _has(self, character: str) -> bool:
        """Whether the target has a character."""
        try:
            return bool(character.encode(self._encoder))
        except UnicodeError:
            return False
