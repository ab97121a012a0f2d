"""SQL's LIKE: % is any text, _ any character; ESCAPE makes the next one stand for itself.

Theory. A pattern is split at each %, and its pieces are looked for from left to right, each once,
behind the one before. A piece without _ is found as Python finds a text. For a piece with _ there
is a number for each letter, whose bit i says that the text has this letter at i. Moved down by the
place of the letter in the piece, and joined by &, these numbers leave one bit for each place where
the whole piece is; a step of that judges 30 places or more at once. Where a letter of the piece is
RARE in the text, its places are tried one by one instead: so there is no step for a letter that is
nowhere, and no number for each of thousands of letters.

So the worst is the length of the text times that of the pattern, by 30 a step of the machine: 10 to
20 ms for the longest of both, and not the minutes that one comparison at a time would take.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

TEXT_MAX: Final = 32_768
"""Longer texts match no pattern: a message must not keep a queue busy."""
RARE: Final = 64
"""So many places cost no more to try, letter by letter, than to join numbers for all places."""
WINDOW: Final = 1_024
"""Places that are judged at first, and twice as many each time: many short pieces that are found
at once must not each cost a look at the whole text.
"""

_ANY_ONE: Final = ""
"""In a piece: any character."""

Piece = list[str]
Places = dict[str, list[int]]
"""Where each letter is in a text."""


def like(pattern: str, escape: str = "") -> Callable[[str], bool]:
    """Return a function that says whether a text matches; ValueError if it is invalid."""
    first, *rest = _pieces(pattern, escape)
    least = len(first) + sum([len(piece) for piece in rest])
    between = [_Between(piece) for piece in rest[:-1]]
    letters: set[str] = set()
    for one in between:
        letters.update(one.letters)

    def matches(text: str) -> bool:
        if not least <= len(text) <= TEXT_MAX or not _is_at(first, text, 0):
            return False
        if not rest:
            return len(text) == len(first)
        tail = len(text) - len(rest[-1])
        if not _is_at(rest[-1], text, tail):
            return False
        at = len(first)
        searched = _Searched(text, letters)
        for piece in between:
            at = piece.behind(searched, at)
            if at < 0:
                return False
        return tail >= at

    return matches


def _pieces(pattern: str, escape: str) -> list[Piece]:
    """Split a pattern at each %."""
    pieces: list[Piece] = [[]]
    characters = iter(pattern)
    for character in characters:
        if escape and character == escape:
            following = next(characters, "")
            if following not in ("%", "_", escape):
                raise ValueError("ESCAPE stands before %, _ or itself")
            pieces[-1].append(following)
        elif character == "%":
            pieces.append([])
        else:
            pieces[-1].append(_ANY_ONE if character == "_" else character)
    return pieces


class _Searched:
    """A text that pieces are looked for in, and where its letters are."""

    __slots__ = ("_bits", "_letters", "_places", "text")

    def __init__(self, text: str, letters: set[str]) -> None:
        """letters: of the pieces with _."""
        self.text = text
        self._letters = letters
        self._places: Places = {}
        self._bits: dict[str, bytes] = {}

    def places(self) -> Places:
        """Return the places of those letters that are in the text at all."""
        if not self._places:
            letters, found = self._letters, self._places
            for at, letter in enumerate(self.text):
                if letter in letters:
                    known = found.get(letter)
                    if known is None:
                        found[letter] = [at]
                    else:
                        known.append(at)
        return self._places

    def number(self, letter: str, at: int, end: int) -> int:
        """Return the number whose bits are the places of a letter from `at` on, to the end."""
        bits = self._bits.get(letter)
        if bits is None:
            made = bytearray(len(self.text) // 8 + 1)
            for place in self.places()[letter]:
                made[place >> 3] |= 1 << (place & 7)
            bits = self._bits[letter] = bytes(made)
        return int.from_bytes(bits[at >> 3 : (end + 7) >> 3], "little") >> (at & 7)


class _Between:
    """A piece that stands between two %."""

    __slots__ = ("_length", "_literal", "letters")

    def __init__(self, piece: Piece) -> None:
        self._length = len(piece)
        self._literal = "" if _ANY_ONE in piece else "".join(piece)
        self.letters: dict[str, list[int]] = {}
        """Of a piece with _: where in it each letter stands."""
        if _ANY_ONE in piece:
            for index, letter in enumerate(piece):
                if letter != _ANY_ONE:
                    self.letters.setdefault(letter, []).append(index)

    def behind(self, searched: _Searched, at: int) -> int:
        """Return the end of the first place of the piece from `at` on, or -1."""
        if self._literal:
            found = searched.text.find(self._literal, at)
        elif len(searched.text) - at < self._length:
            return -1
        elif not self.letters:
            found = at
        else:
            found = self._first_place(searched, at)
        return found if found < 0 else found + self._length

    def _first_place(self, searched: _Searched, at: int) -> int:
        places = searched.places()
        rarest, fewest = "", TEXT_MAX + 1
        for letter in self.letters:
            known = places.get(letter)
            if known is None:
                return -1
            if len(known) < fewest:
                rarest, fewest = letter, len(known)
        last = len(searched.text) - self._length
        if fewest <= RARE:
            index = self.letters[rarest][0]
            for place in places[rarest]:
                start = place - index
                if at <= start <= last and self._is_at(searched.text, start):
                    return start
            return -1
        count = self._length + WINDOW
        while at <= last:
            count = min(count, last - at + 1)
            left = self._starts(searched, at, count)
            if left:
                return at + (left & -left).bit_length() - 1
            at += count
            count *= 2
        return -1

    def _starts(self, searched: _Searched, at: int, count: int) -> int:
        """Return the number whose bits are the places of the piece, of so many from `at` on."""
        left = (1 << count) - 1
        for letter, indexes in self.letters.items():
            number = searched.number(letter, at, at + count + self._length)
            for index in indexes:
                left &= number >> index
                if not left:
                    return 0
        return left

    def _is_at(self, text: str, start: int) -> bool:
        for letter, indexes in self.letters.items():
            for index in indexes:
                if text[start + index] != letter:
                    return False
        return True


def _is_at(piece: Piece, text: str, at: int) -> bool:
    if at < 0 or len(text) - at < len(piece):
        return False
    return all(one in ("", text[at + index]) for index, one in enumerate(piece))
