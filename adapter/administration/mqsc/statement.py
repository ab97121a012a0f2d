"""What a command says: verb, kind of object, name, parameters; nothing is looked up yet.

    statement   verb kind [(name)] parameter...
    parameter   KEYWORD [(value value...)]

Verbs and kinds may be abbreviated as MQ's manual lists it. This module knows no attribute.
"""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from msgspec import Struct

from adapter.administration.mqsc.text import NotMqscError, Token, tokens_of

FULL_VERBS = (
    *("DEFINE", "ALTER", "DISPLAY", "DELETE", "CLEAR", "SET", "START", "STOP", "PING", "REFRESH"),
    *("RESET", "RESOLVE", "RESUME", "SUSPEND", "MOVE", "PURGE", "END"),
)
VERBS = {word: word for word in FULL_VERBS} | {
    "DEF": "DEFINE",
    "ALT": "ALTER",
    "DISP": "DISPLAY",
    "DIS": "DISPLAY",
    "DEL": "DELETE",
    "STA": "START",
    "REF": "REFRESH",
    "QUIT": "END",
}
ALONE = frozenset({"END"})
"""Verbs that stand for a whole command."""
SHORT_KINDS = {
    "QL": "QLOCAL",
    "QA": "QALIAS",
    "QR": "QREMOTE",
    "QM": "QMODEL",
    "Q": "QUEUE",
    "PRO": "PROCESS",
    "NL": "NAMELIST",
    "CHL": "CHANNEL",
    "QS": "QSTATUS",
    "QST": "QSTATUS",
    "CHS": "CHSTATUS",
    "CHLST": "CHSTATUS",
    "LSTR": "LISTENER",
    "TPS": "TPSTATUS",
    "SBS": "SBSTATUS",
    "SEC": "SECURITY",
    "CMDS": "CMDSERV",
}
GUESSES_MAX = 2
FULL_KINDS = (
    "QLOCAL",
    "QALIAS",
    "QREMOTE",
    "QMODEL",
    "QUEUE",
    "PROCESS",
    "NAMELIST",
    "TOPIC",
    "SUB",
    "CHANNEL",
    "AUTHINFO",
    "FEED",
    "EXPORT",
    "QMGR",
    "QMSTATUS",
    "QSTATUS",
    "QSTATS",
    "CONN",
    "TOPICSTR",
    "CHSTATUS",
    "CHLAUTH",
    "AUTHREC",
    "LISTENER",
    "LSSTATUS",
    "SERVICE",
    "SVSTATUS",
    "TPSTATUS",
    "SBSTATUS",
    "PUBSUB",
    "CMDSERV",
    "SECURITY",
    "COMMINFO",
    "CLUSQMGR",
    "CLUSTER",
    "CHINIT",
)
KINDS = {word: word for word in FULL_KINDS} | SHORT_KINDS
NAMELESS = frozenset({"QMGR", "QMSTATUS", "CMDSERV", "CHINIT", "PUBSUB"})
"""There is one of it."""
NAME_OPTIONAL = frozenset({"AUTHREC", "SECURITY", "SUB", "SBSTATUS"})
"""They may also be named by a parameter, or not at all."""


class Word(Struct, frozen=True):
    """One value between parentheses. quoted: its case is as it was written."""

    text: str
    quoted: bool = False


class StatementParameter(Struct, frozen=True):
    """A keyword and its values; None if it had no parentheses."""

    keyword: str
    values: tuple[Word, ...] | None = None


class Statement(Struct, frozen=True):
    """One command. name: "" where the kind has none."""

    verb: str
    kind: str
    name: str
    parameters: tuple[StatementParameter, ...] = ()


def parse(text: str) -> Statement:
    """Read one command; NotMqscError says what is wrong with it, and near what."""
    reader = _Reader(text, tokens_of(text))
    verb = reader.known(VERBS, "command")
    if verb in ALONE:
        reader.expect_end()
        return Statement(verb, "", "")
    kind = reader.known(KINDS, "object type")
    name = "" if kind in NAMELESS else reader.name(kind)
    parameters: dict[str, StatementParameter] = {}
    while not reader.ended:
        parameter = reader.parameter()
        if parameter.keyword in parameters:
            raise NotMqscError(f"{parameter.keyword} is given twice", parameter.keyword)
        parameters[parameter.keyword] = parameter
    return Statement(verb, kind, name, tuple(parameters.values()))


def expected_words(word: str, known: Mapping[str, str]) -> str:
    """Say which words may stand there: those like it, or all. known: with what they mean."""
    near = get_close_matches(word, known, GUESSES_MAX)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"expected one of {', '.join(dict.fromkeys(known.values()))}"


class _Reader:
    """Goes through the tokens of one command."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._at = 0

    @property
    def ended(self) -> bool:
        return self._at == len(self._tokens)

    def known(self, table: dict[str, str], what: str) -> str:
        """Take a word of a table, and return what it stands for."""
        if self.ended:
            raise NotMqscError(f"the command ends where the {what} is expected", self._text[-30:])
        token = self._next()
        if token.mark or token.quoted or token.text not in table:
            text = f"unknown {what} {token.text}; {expected_words(token.text, table)}"
            raise NotMqscError(text, self._text[token.at :])
        return table[token.text]

    def name(self, kind: str) -> str:
        """Take the name of an object, in parentheses."""
        values = self._parenthesis()
        if values is None and kind in NAME_OPTIONAL:
            return ""
        if values is None or len(values) != 1 or not values[0].text.strip():
            near = self._text if self.ended else self._text[self._tokens[self._at].at :]
            raise NotMqscError(f"{kind} takes one name in parentheses, such as {kind}(A)", near)
        return values[0].text

    def parameter(self) -> StatementParameter:
        """Take a keyword and its values."""
        token = self._next()
        if token.mark or token.quoted:
            raise NotMqscError("a keyword is expected", self._text[token.at :])
        return StatementParameter(token.text, self._parenthesis())

    def expect_end(self) -> None:
        """Refuse that something follows."""
        if not self.ended:
            near = self._text[self._tokens[self._at].at :]
            raise NotMqscError("the command should have ended", near)

    def _parenthesis(self) -> tuple[Word, ...] | None:
        if self.ended or not self._is("("):
            return None
        begin = self._next().at
        values = []
        while self._at < len(self._tokens) and not self._is(")"):
            token = self._next()
            if token.mark:
                text = "a parenthesis in a value; set the value in quotation marks"
                raise NotMqscError(text, self._text[begin:])
            values.append(Word(token.text, token.quoted))
        if self._at == len(self._tokens):
            raise NotMqscError("a parenthesis is not closed", self._text[begin:])
        self._next()
        if not values:
            raise NotMqscError("the parentheses are empty", self._text[begin:])
        return tuple(values)

    def _is(self, mark: str) -> bool:
        token = self._tokens[self._at]
        return token.mark and token.text == mark

    def _next(self) -> Token:
        token = self._tokens[self._at]
        self._at += 1
        return token
