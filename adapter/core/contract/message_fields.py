"""Where the fields of a message are in the tuple of all of them: structs.astuple(message).

Compiled code reads an attribute of a Struct through the interpreter; where many are read, one tuple
of them is faster. Only fields that are read so are named here; a test compares them with
MessageData.
"""

from __future__ import annotations

from typing import Final

BODY: Final = 0
MESSAGE_ID: Final = 1
CORRELATION_ID: Final = 2
GROUP_ID: Final = 3
GROUP_SEQ: Final = 4
PRIORITY: Final = 6
PERSISTENCE: Final = 7
EXPIRY_MS: Final = 8
FORMAT: Final = 9
MESSAGE_TYPE: Final = 10
REPORT: Final = 11
FEEDBACK: Final = 12
ENCODING: Final = 13
CCSID: Final = 14
REPLY_TO: Final = 15
REPLY_TO_QUEUE_MANAGER: Final = 16
USER: Final = 17
APPLICATION: Final = 18
PROPERTIES: Final = 19
PUT_TIME_MS: Final = 20
EXPIRES_AT_MS: Final = 21
DETAILS: Final = 22
DELAY_MS: Final = 23
DELIVER_AT_MS: Final = 24
DESTINATION: Final = 25
TRANSMISSION: Final = 26
MSMQ: Final = 27
BROKER: Final = 28
