"""The structures of the MQI as bytes: exact sizes and layouts, as a C compiler lays them out.

A layout takes bytes apart into a dict by field name, and puts one together again. Fields that the
version of a structure does not have yet are blank, and stay in it as they were. Pointers are whole
numbers here: adapter.mqi.pointers reads what they point to. This module knows no verb.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

from adapter import mq_constants as mq
from adapter.mqi.arguments import buffer
from adapter.mqi.reasons import MqiFailure

Fields = dict[str, Any]

CHARV = "{0}Ptr:P {0}Offset:i {0}BufSize:i {0}Length:i {0}CCSID:i"
"""MQCHARV: a text that lies somewhere else."""


BEYOND = "beyond"
"""Among the fields that were read: the bytes of those that the version does not have."""
VERSION = struct.Struct("@i")


class WrongSize(Exception):  # noqa: N818 -- programs know it as `error`
    """A structure does not have the size of its layout: the program was made for another level."""


class Layout:
    """One structure: its name, and its fields in order with their formats.

    fields: "NAME:FORMAT", between blanks; "@2" stands before those that only version 2 has.
    struc_id, versions: what it begins with, and the newest version that there is; refused: the
    reason code of one that begins otherwise.
    """

    def __init__(
        self, name: str, fields: str, struc_id: bytes = b"", versions: int = 0, refused: int = 0
    ) -> None:
        listed = fields.split()
        pairs = [field.split(":") for field in listed if field[0] != "@"]
        self._ends = dict(_ends(listed))
        self.name = name
        self._struc_id, self._versions, self._refused = struc_id, versions, refused
        self.fields = tuple(field for field, _ in pairs)
        self._struct = struct.Struct("@" + "".join(form for _, form in pairs))
        self.size = self._struct.size

    def check(self, data: object) -> bytes:
        """Take the bytes of one such structure. Raises TypeError for text, WrongSize."""
        taken = buffer(data)
        if len(taken) != self.size:
            raise WrongSize(f"{self.name} wrong size. Given: {len(taken)}, expected {self.size}")
        return taken

    def read(self, data: object) -> Fields:
        """Take apart. Raises TypeError for text, WrongSize."""
        taken = self.check(data)
        beyond = self._beyond(taken) if self._ends else b""
        if beyond:
            taken = taken[: -len(beyond)].ljust(self.size, b"\0")
        fields = dict(zip(self.fields, self._struct.unpack(taken), strict=True))
        return fields | {BEYOND: beyond} if beyond else fields

    def _beyond(self, taken: bytes) -> bytes:
        """Return what lies behind the last field of the version that a structure says."""
        (version,) = VERSION.unpack_from(taken, 4)
        end = self._ends.get(version)
        return b"" if end is None else taken[end:]

    def confirm(self, fields: Fields) -> Fields:
        """Return the fields. MqiFailure if they are of another structure or version."""
        if fields["StrucId"] != self._struc_id or not 1 <= fields["Version"] <= self._versions:
            raise MqiFailure(self._refused)
        return fields

    def write(self, fields: Fields) -> bytes:
        """Put together; texts are cut and padded to their fields with zero bytes."""
        packed = self._struct.pack(*[fields[name] for name in self.fields])
        beyond: bytes = fields.get(BEYOND, b"")
        return packed[: self.size - len(beyond)] + beyond


def _ends(fields: list[str]) -> Iterator[tuple[int, int]]:
    """Say of each version but the newest where its last field ends."""
    form = "@"
    for field in fields:
        if field[0] == "@":
            yield int(field[1:]) - 1, struct.calcsize(form)
        else:
            form += field.split(":")[1]


def _charv(*names: str) -> str:
    return " ".join(CHARV.format(name) for name in names)


MQMD = Layout(
    "MQMD",
    "StrucId:4s Version:i Report:i MsgType:i Expiry:i Feedback:i Encoding:i CodedCharSetId:i "
    "Format:8s Priority:i Persistence:i MsgId:24s CorrelId:24s BackoutCount:i ReplyToQ:48s "
    "ReplyToQMgr:48s UserIdentifier:12s AccountingToken:32s ApplIdentityData:32s PutApplType:i "
    "PutApplName:28s PutDate:8s PutTime:8s ApplOriginData:4s @2 GroupId:24s MsgSeqNumber:i "
    "Offset:i MsgFlags:i OriginalLength:i",
    b"MD  ",
    2,
    mq.MQRC_MD_ERROR,
)
MQMDE = Layout(
    "MQMDE",
    "StrucId:4s Version:i StrucLength:i Encoding:i CodedCharSetId:i Format:8s Flags:i "
    "GroupId:24s MsgSeqNumber:i Offset:i MsgFlags:i OriginalLength:i",
)
MQOD = Layout(
    "MQOD",
    "StrucId:4s Version:i ObjectType:i ObjectName:48s ObjectQMgrName:48s DynamicQName:48s "
    "AlternateUserId:12s @2 RecsPresent:i KnownDestCount:i UnknownDestCount:i InvalidDestCount:i "
    "ObjectRecOffset:i ResponseRecOffset:i ObjectRecPtr:P ResponseRecPtr:P "
    "@3 AlternateSecurityId:40s ResolvedQName:48s ResolvedQMgrName:48s @4 "
    + _charv("ObjectString", "SelectionString", "ResObjectString")
    + " ResolvedType:i Pad:4s",
    b"OD  ",
    4,
    mq.MQRC_OD_ERROR,
)
MQGMO = Layout(
    "MQGMO",
    "StrucId:4s Version:i Options:i WaitInterval:i Signal1:i Signal2:i ResolvedQName:48s "
    "@2 MatchOptions:i GroupStatus:b SegmentStatus:b Segmentation:b Reserved1:c @3 MsgToken:16s "
    "ReturnedLength:i @4 Reserved2:i MsgHandle:q",
    b"GMO ",
    4,
    mq.MQRC_GMO_ERROR,
)
MQPMO = Layout(
    "MQPMO",
    "StrucId:4s Version:i Options:i Timeout:i Context:i KnownDestCount:i UnknownDestCount:i "
    "InvalidDestCount:i ResolvedQName:48s ResolvedQMgrName:48s @2 RecsPresent:i PutMsgRecFields:i "
    "PutMsgRecOffset:i ResponseRecOffset:i PutMsgRecPtr:P ResponseRecPtr:P @3 OriginalMsgHandle:q "
    "NewMsgHandle:q Action:i PubLevel:i",
    b"PMO ",
    3,
    mq.MQRC_PMO_ERROR,
)
MQSD = Layout(
    "MQSD",
    "StrucId:4s Version:i Options:i ObjectName:48s AlternateUserId:12s AlternateSecurityId:40s "
    "SubExpiry:i "
    + _charv("ObjectString", "SubName", "SubUserData")
    + " SubCorrelId:24s PubPriority:i PubAccountingToken:32s PubApplIdentityData:32s "
    + _charv("SelectionString")
    + " SubLevel:i "
    + _charv("ResObjectString"),
    b"SD  ",
    1,
    mq.MQRC_SD_ERROR,
)
MQSRO = Layout("MQSRO", "StrucId:4s Version:i Options:i NumPubs:i", b"SRO ", 1, mq.MQRC_SRO_ERROR)
MQSTS = Layout(
    "MQSTS",
    "StrucId:4s Version:i CompCode:i Reason:i PutSuccessCount:i PutWarningCount:i "
    "PutFailureCount:i ObjectType:i ObjectName:48s ObjectQMgrName:48s ResolvedObjectName:48s "
    "ResolvedQMgrName:48s @2 " + _charv("ObjectString", "SubName") + " OpenOptions:i SubOptions:i",
    b"STAT",
    2,
    mq.MQRC_STS_ERROR,
)
MQCBD = Layout(
    "MQCBD",
    "StrucId:4s Version:i CallbackType:i Options:i CallbackArea:P CallbackFunction:P "
    "CallbackName:128s MaxMsgLength:i Pad:i",
    b"CBD ",
    1,
    mq.MQRC_CBD_ERROR,
)
MQCBC = Layout(
    "MQCBC",
    "StrucId:4s Version:i CallType:i Hobj:i CallbackArea:P ConnectionArea:P CompCode:i Reason:i "
    "State:i DataLength:i BufferLength:i Flags:i ReconnectDelay:i Pad:i",
)
MQCTLO = Layout(
    "MQCTLO",
    "StrucId:4s Version:i Options:i Reserved:i ConnectionArea:P",
    b"CTLO",
    1,
    mq.MQRC_CTLO_ERROR,
)
MQCNO = Layout(
    "MQCNO",
    "StrucId:4s Version:i Options:i ClientConnOffset:i ClientConnPtr:P ConnTag:128s "
    "SSLConfigPtr:P SSLConfigOffset:i ConnectionId:24s SecurityParmsOffset:i "
    "SecurityParmsPtr:P CCDTUrlPtr:P CCDTUrlOffset:i CCDTUrlLength:i Reserved:q "
    "ApplName:28s Reserved2:i BalanceParmsPtr:P BalanceParmsOffset:i Reserved3:i",
    b"CNO ",
    8,
    mq.MQRC_CNO_ERROR,
)
"""Its fields, and those of MQSCO, are read whatever the version: ibmmq leaves that an older one,
and what a program says in them can only be meant.
"""
MQCSP = Layout(
    "MQCSP",
    "StrucId:4s Version:i AuthenticationType:i Reserved1:i CSPUserIdPtr:P CSPUserIdOffset:i "
    "CSPUserIdLength:i Reserved2:q CSPPasswordPtr:P CSPPasswordOffset:i CSPPasswordLength:i "
    "@2 Reserved3:q InitialKeyPtr:P InitialKeyOffset:i InitialKeyLength:i @3 Reserved4:q "
    "TokenPtr:P TokenOffset:i TokenLength:i",
)
MQSCO = Layout(
    "MQSCO",
    "StrucId:4s Version:i KeyRepository:256s CryptoHardware:256s AuthInfoRecCount:i "
    "AuthInfoRecOffset:i AuthInfoRecPtr:P KeyResetCount:i FipsRequired:i SuiteB1:i SuiteB2:i "
    "SuiteB3:i SuiteB4:i CertificateValPolicy:i CertificateLabel:64s KeyRepoPasswordPtr:P "
    "KeyRepoPasswordOffset:i KeyRepoPasswordLength:i HTTPSCertValidation:i "
    "HTTPSCertRevocation:i HTTPSKeyStorePtr:P HTTPSKeyStoreOffset:i HTTPSKeyStoreLength:i",
)
MQBNO = Layout("MQBNO", "StrucId:4s Version:i ApplType:i Timeout:i Options:i")
_CD = (
    "ChannelName:20s Version:i ChannelType:i TransportType:i Rest1:992s ConnectionName:264s "
    "Rest2:400s SSLCipherSpec:32s Rest3:196s DefReconnect:i "
    "CertificateLabel:64s Rest4:{}s"
)
MQCD = Layout("MQCD", _CD.format(16))
MQCD_11 = Layout("MQCD", _CD.format(4))
"""Version 11 ends before what version 12 added."""
MQSCO_5 = Layout("MQSCO", "StrucId:4s Version:i KeyRepository:256s Rest:300s CertificateLabel:64s")
MQCMHO = Layout("MQCMHO", "StrucId:4s Version:i Options:i", b"CMHO", 1, mq.MQRC_CMHO_ERROR)
MQDMHO = Layout("MQDMHO", "StrucId:4s Version:i Options:i", b"DMHO", 1, mq.MQRC_DMHO_ERROR)
MQDMPO = Layout("MQDMPO", "StrucId:4s Version:i Options:i", b"DMPO", 1, mq.MQRC_DMPO_ERROR)
MQPD = Layout(
    "MQPD",
    "StrucId:4s Version:i Options:i Support:i Context:i CopyOptions:i",
    b"PD  ",
    1,
    mq.MQRC_PD_ERROR,
)
MQSMPO = Layout(
    "MQSMPO",
    "StrucId:4s Version:i Options:i ValueEncoding:i ValueCCSID:i",
    b"SMPO",
    1,
    mq.MQRC_SMPO_ERROR,
)
MQIMPO = Layout(
    "MQIMPO",
    "StrucId:4s Version:i Options:i RequestedEncoding:i RequestedCCSID:i ReturnedEncoding:i "
    "ReturnedCCSID:i Reserved1:i " + _charv("ReturnedName") + " TypeString:8s",
    b"IMPO",
    1,
    mq.MQRC_IMPO_ERROR,
)
