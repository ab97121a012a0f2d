"""Which options of which verb are taken, and what is answered to the others: one table each.

docs/reference/mqi-coverage.md is written from these tables. An option that stands in none is
refused, with MQRC_OPTIONS_ERROR unless its table says otherwise. This module knows no verb's work.
"""

from __future__ import annotations

from msgspec import Struct

from adapter import mq_constants as mq
from adapter.mqi.reasons import MqiFailure


class Option(Struct, frozen=True):
    """One option. refused: the reason code that asking for it gives; 0: it is taken."""

    name: str
    refused: int = 0
    note: str = ""

    @property
    def bits(self) -> int:
        """Its number in the MQI."""
        return int(getattr(mq, self.name))


class OptionTable:
    """The options of one verb, which of them exclude each other, and which need another.

    needs: options, and others of which one has to be beside each of them. refusal: the reason code
    for what is no option, or stands beside another or alone.
    """

    def __init__(
        self,
        table: tuple[Option, ...],
        exclusive: tuple[int, ...] = (),
        needs: tuple[tuple[int, int], ...] = (),
        refusal: int = mq.MQRC_OPTIONS_ERROR,
    ) -> None:
        self._refusal = refusal
        self.table = table
        self._known = 0
        for option in table:
            self._known |= option.bits
        self._refused = tuple(option for option in table if option.refused)
        self._refused_bits = sum(option.bits for option in self._refused)
        self._exclusive = exclusive
        self.needs = needs

    def check(self, options: int) -> int:
        """Return the options. MqiFailure if one is unknown, not accepted, or excludes another, or
        stands without one that it needs.
        """
        if options & ~self._known:
            raise MqiFailure(self._refusal)
        for group in self._exclusive:
            chosen = options & group
            if chosen & (chosen - 1):
                raise MqiFailure(self._refusal)
        for options_that_need, needed in self.needs:
            if options & options_that_need and not options & needed:
                raise MqiFailure(self._refusal)
        if options & self._refused_bits:
            raise MqiFailure(next(o.refused for o in self._refused if options & o.bits))
        return options


OF_TOPIC = "accepted, without effect: authorities on the topic decide who may resume it"
HINT = "taken; a hint that changes nothing here"
UNSUPPORTED = mq.MQRC_FUNCTION_NOT_SUPPORTED
ELSE_REFUSED = "else 2046"
TO_PUT = f"with MQOO_OUTPUT; {ELSE_REFUSED}"

CONNECT = OptionTable(
    (
        Option("MQCNO_FASTPATH_BINDING", note="taken as a client connection"),
        Option("MQCNO_SHARED_BINDING", note="taken as a client connection"),
        Option("MQCNO_ISOLATED_BINDING", note="taken as a client connection"),
        Option("MQCNO_LOCAL_BINDING", note="taken as a client connection"),
        Option("MQCNO_CLIENT_BINDING"),
        Option("MQCNO_HANDLE_SHARE_NONE"),
        Option("MQCNO_HANDLE_SHARE_BLOCK"),
        Option("MQCNO_HANDLE_SHARE_NO_BLOCK"),
        Option(
            "MQCNO_RECONNECT",
            note="a connection is made again if none of these is given, too: for a minute",
        ),
        Option("MQCNO_RECONNECT_Q_MGR"),
        Option("MQCNO_RECONNECT_DISABLED"),
        Option("MQCNO_SERIALIZE_CONN_TAG_Q_MGR", mq.MQRC_CONN_TAG_NOT_USABLE),
        Option("MQCNO_SERIALIZE_CONN_TAG_QSG", mq.MQRC_CONN_TAG_NOT_USABLE),
        Option("MQCNO_RESTRICT_CONN_TAG_Q_MGR", mq.MQRC_CONN_TAG_NOT_USABLE),
        Option("MQCNO_RESTRICT_CONN_TAG_QSG", mq.MQRC_CONN_TAG_NOT_USABLE),
        Option("MQCNO_GENERATE_CONN_TAG", mq.MQRC_CONN_TAG_NOT_USABLE),
        Option("MQCNO_ACCOUNTING_MQI_ENABLED", note=HINT),
        Option("MQCNO_ACCOUNTING_MQI_DISABLED", note=HINT),
        Option("MQCNO_ACCOUNTING_Q_ENABLED", note=HINT),
        Option("MQCNO_ACCOUNTING_Q_DISABLED", note=HINT),
        Option("MQCNO_ACTIVITY_TRACE_ENABLED", note=HINT),
        Option("MQCNO_ACTIVITY_TRACE_DISABLED", note=HINT),
        Option("MQCNO_NO_CONV_SHARING", note="every connection is one TCP connection"),
        Option("MQCNO_ALL_CONVS_SHARE", note="every connection is one TCP connection"),
        Option("MQCNO_CD_FOR_OUTPUT_ONLY", UNSUPPORTED),
        Option("MQCNO_USE_CD_SELECTION"),
    ),
    exclusive=(
        mq.MQCNO_HANDLE_SHARE_NONE | mq.MQCNO_HANDLE_SHARE_BLOCK | mq.MQCNO_HANDLE_SHARE_NO_BLOCK,
        mq.MQCNO_RECONNECT | mq.MQCNO_RECONNECT_Q_MGR | mq.MQCNO_RECONNECT_DISABLED,
        mq.MQCNO_LOCAL_BINDING | mq.MQCNO_CLIENT_BINDING,
    ),
)
OPEN = OptionTable(
    (
        Option("MQOO_INPUT_AS_Q_DEF"),
        Option("MQOO_INPUT_SHARED"),
        Option("MQOO_INPUT_EXCLUSIVE"),
        Option("MQOO_BROWSE"),
        Option("MQOO_OUTPUT"),
        Option("MQOO_INQUIRE"),
        Option("MQOO_SET"),
        Option("MQOO_SAVE_ALL_CONTEXT", note=f"with MQOO_INPUT_*; {ELSE_REFUSED}"),
        Option("MQOO_PASS_IDENTITY_CONTEXT", note=TO_PUT),
        Option("MQOO_PASS_ALL_CONTEXT", note=TO_PUT),
        Option("MQOO_SET_IDENTITY_CONTEXT", note=TO_PUT),
        Option("MQOO_SET_ALL_CONTEXT", note=TO_PUT),
        Option("MQOO_ALTERNATE_USER_AUTHORITY"),
        Option("MQOO_FAIL_IF_QUIESCING"),
        Option("MQOO_BIND_ON_OPEN", note="there are no clusters"),
        Option("MQOO_BIND_NOT_FIXED", note="there are no clusters"),
        Option("MQOO_BIND_ON_GROUP", note="there are no clusters"),
        Option("MQOO_RESOLVE_NAMES"),
        Option("MQOO_RESOLVE_LOCAL_Q"),
        Option("MQOO_NO_READ_AHEAD"),
        Option("MQOO_READ_AHEAD", note=HINT),
        Option("MQOO_NO_MULTICAST", note=TO_PUT),
        Option("MQOO_CO_OP", note=f"with MQOO_BROWSE; {ELSE_REFUSED}"),
    ),
    exclusive=(
        mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE,
        mq.MQOO_BIND_ON_OPEN | mq.MQOO_BIND_NOT_FIXED | mq.MQOO_BIND_ON_GROUP,
        mq.MQOO_READ_AHEAD | mq.MQOO_NO_READ_AHEAD,
    ),
    needs=(
        (
            mq.MQOO_SAVE_ALL_CONTEXT,
            mq.MQOO_INPUT_AS_Q_DEF | mq.MQOO_INPUT_SHARED | mq.MQOO_INPUT_EXCLUSIVE,
        ),
        (
            mq.MQOO_PASS_IDENTITY_CONTEXT
            | mq.MQOO_PASS_ALL_CONTEXT
            | mq.MQOO_SET_IDENTITY_CONTEXT
            | mq.MQOO_SET_ALL_CONTEXT
            | mq.MQOO_NO_MULTICAST,
            mq.MQOO_OUTPUT,
        ),
        (mq.MQOO_CO_OP, mq.MQOO_BROWSE),
    ),
)
CLOSE = OptionTable(
    (
        Option("MQCO_DELETE"),
        Option("MQCO_DELETE_PURGE"),
        Option("MQCO_KEEP_SUB", note="for durable subscriptions; else 2045"),
        Option("MQCO_REMOVE_SUB", note="for subscriptions; else 2045"),
        Option("MQCO_QUIESCE", note="nothing is read ahead"),
    ),
    exclusive=(mq.MQCO_DELETE | mq.MQCO_DELETE_PURGE, mq.MQCO_KEEP_SUB | mq.MQCO_REMOVE_SUB),
)
ONLY_TOPICS = f"for topics only; {ELSE_REFUSED}"
_PUTTING = (
    Option("MQPMO_SYNCPOINT"),
    Option("MQPMO_NO_SYNCPOINT"),
    Option("MQPMO_DEFAULT_CONTEXT"),
    Option("MQPMO_NO_CONTEXT"),
    Option("MQPMO_PASS_IDENTITY_CONTEXT"),
    Option("MQPMO_PASS_ALL_CONTEXT"),
    Option("MQPMO_SET_IDENTITY_CONTEXT"),
    Option("MQPMO_SET_ALL_CONTEXT"),
    Option("MQPMO_NEW_MSG_ID"),
    Option("MQPMO_NEW_CORREL_ID"),
    Option("MQPMO_ALTERNATE_USER_AUTHORITY"),
    Option("MQPMO_FAIL_IF_QUIESCING"),
    Option("MQPMO_LOGICAL_ORDER"),
    Option("MQPMO_ASYNC_RESPONSE"),
    Option("MQPMO_SYNC_RESPONSE"),
    Option("MQPMO_RESOLVE_LOCAL_Q"),
    Option("MQPMO_MD_FOR_OUTPUT_ONLY", mq.MQRC_OPTIONS_ERROR),
    Option("MQPMO_RETAIN", note=ONLY_TOPICS),
    Option("MQPMO_WARN_IF_NO_SUBS_MATCHED", note=ONLY_TOPICS),
    Option("MQPMO_SCOPE_QMGR", note=ONLY_TOPICS),
    Option("MQPMO_SUPPRESS_REPLYTO", note=ONLY_TOPICS),
    Option("MQPMO_NOT_OWN_SUBS", UNSUPPORTED),
)
_PUTTING_EXCLUSIVE = (
    mq.MQPMO_SYNCPOINT | mq.MQPMO_NO_SYNCPOINT,
    mq.MQPMO_ASYNC_RESPONSE | mq.MQPMO_SYNC_RESPONSE,
    mq.MQPMO_DEFAULT_CONTEXT
    | mq.MQPMO_NO_CONTEXT
    | mq.MQPMO_PASS_IDENTITY_CONTEXT
    | mq.MQPMO_PASS_ALL_CONTEXT
    | mq.MQPMO_SET_IDENTITY_CONTEXT
    | mq.MQPMO_SET_ALL_CONTEXT,
)


def _but(name: str, note: str) -> tuple[Option, ...]:
    """Return the options of a put, one of which is refused."""
    refused = Option(name, mq.MQRC_OPTIONS_ERROR, note)
    return tuple(refused if option.name == name else option for option in _PUTTING)


PUT = OptionTable(_but("MQPMO_ALTERNATE_USER_AUTHORITY", "of MQPUT1"), _PUTTING_EXCLUSIVE)
PUT1 = OptionTable(_but("MQPMO_LOGICAL_ORDER", "of MQPUT"), _PUTTING_EXCLUSIVE)
SUBSCRIBE = OptionTable(
    (
        Option("MQSO_CREATE"),
        Option("MQSO_RESUME"),
        Option("MQSO_ALTER"),
        Option("MQSO_DURABLE"),
        Option("MQSO_MANAGED"),
        Option("MQSO_PUBLICATIONS_ON_REQUEST"),
        Option("MQSO_NEW_PUBLICATIONS_ONLY"),
        Option("MQSO_SET_CORREL_ID"),
        Option("MQSO_WILDCARD_TOPIC"),
        Option("MQSO_WILDCARD_CHAR", UNSUPPORTED),
        Option("MQSO_GROUP_SUB", UNSUPPORTED),
        Option("MQSO_SET_IDENTITY_CONTEXT", UNSUPPORTED),
        Option("MQSO_ANY_USERID", note=OF_TOPIC),
        Option("MQSO_FIXED_USERID", note=OF_TOPIC),
        Option("MQSO_ALTERNATE_USER_AUTHORITY"),
        Option("MQSO_SCOPE_QMGR", note="there is one queue manager"),
        Option("MQSO_FAIL_IF_QUIESCING"),
        Option("MQSO_NO_MULTICAST"),
        Option("MQSO_NO_READ_AHEAD"),
        Option("MQSO_READ_AHEAD", note=HINT),
    ),
    exclusive=(
        mq.MQSO_RESUME | mq.MQSO_ALTER,
        mq.MQSO_WILDCARD_TOPIC | mq.MQSO_WILDCARD_CHAR,
        mq.MQSO_ANY_USERID | mq.MQSO_FIXED_USERID,
        mq.MQSO_READ_AHEAD | mq.MQSO_NO_READ_AHEAD,
    ),
)
REQUEST = OptionTable((Option("MQSRO_FAIL_IF_QUIESCING"),))
ONE_ONLY = "of the message that MQMO_MATCH_MSG_TOKEN says, with no other option"
BROWSING = mq.MQGMO_BROWSE_FIRST | mq.MQGMO_BROWSE_NEXT | mq.MQGMO_BROWSE_MSG_UNDER_CURSOR
MARKING = mq.MQGMO_MARK_BROWSE_HANDLE | mq.MQGMO_MARK_BROWSE_CO_OP | mq.MQGMO_UNMARKED_BROWSE_MSG
SYNCPOINTS = mq.MQGMO_SYNCPOINT | mq.MQGMO_NO_SYNCPOINT | mq.MQGMO_SYNCPOINT_IF_PERSISTENT
GET = OptionTable(
    (
        Option("MQGMO_WAIT"),
        Option("MQGMO_SYNCPOINT"),
        Option("MQGMO_NO_SYNCPOINT"),
        Option("MQGMO_SYNCPOINT_IF_PERSISTENT"),
        Option("MQGMO_BROWSE_FIRST"),
        Option("MQGMO_BROWSE_NEXT"),
        Option("MQGMO_BROWSE_MSG_UNDER_CURSOR"),
        Option("MQGMO_MSG_UNDER_CURSOR"),
        Option("MQGMO_LOCK"),
        Option("MQGMO_UNLOCK"),
        Option("MQGMO_ACCEPT_TRUNCATED_MSG"),
        Option("MQGMO_FAIL_IF_QUIESCING"),
        Option("MQGMO_CONVERT"),
        Option("MQGMO_PROPERTIES_IN_HANDLE"),
        Option("MQGMO_NO_PROPERTIES"),
        Option("MQGMO_PROPERTIES_FORCE_MQRFH2"),
        Option("MQGMO_PROPERTIES_COMPATIBILITY"),
        Option("MQGMO_LOGICAL_ORDER"),
        Option("MQGMO_COMPLETE_MSG"),
        Option("MQGMO_ALL_MSGS_AVAILABLE"),
        Option("MQGMO_ALL_SEGMENTS_AVAILABLE"),
        Option("MQGMO_MARK_BROWSE_HANDLE"),
        Option("MQGMO_MARK_BROWSE_CO_OP"),
        Option("MQGMO_UNMARK_BROWSE_CO_OP", note=ONE_ONLY),
        Option("MQGMO_UNMARK_BROWSE_HANDLE", note=ONE_ONLY),
        Option("MQGMO_UNMARKED_BROWSE_MSG"),
        Option("MQGMO_SET_SIGNAL", mq.MQRC_OPTIONS_ERROR, "of another platform"),
        Option("MQGMO_MARK_SKIP_BACKOUT", mq.MQRC_OPTIONS_ERROR, "of another platform"),
    ),
    exclusive=(
        SYNCPOINTS,
        BROWSING | mq.MQGMO_MSG_UNDER_CURSOR,
        BROWSING | mq.MQGMO_SYNCPOINT,
        mq.MQGMO_MARK_BROWSE_HANDLE | mq.MQGMO_MARK_BROWSE_CO_OP,
        BROWSING | mq.MQGMO_SYNCPOINT_IF_PERSISTENT,
        mq.MQGMO_COMPLETE_MSG | mq.MQGMO_SYNCPOINT_IF_PERSISTENT,
        mq.MQGMO_PROPERTIES_IN_HANDLE
        | mq.MQGMO_NO_PROPERTIES
        | mq.MQGMO_PROPERTIES_FORCE_MQRFH2
        | mq.MQGMO_PROPERTIES_COMPATIBILITY,
    ),
    needs=((mq.MQGMO_LOCK, BROWSING),),
)
MATCH = OptionTable(
    (
        Option("MQMO_MATCH_MSG_ID"),
        Option("MQMO_MATCH_CORREL_ID"),
        Option("MQMO_MATCH_GROUP_ID"),
        Option("MQMO_MATCH_MSG_SEQ_NUMBER"),
        Option("MQMO_MATCH_OFFSET"),
        Option("MQMO_MATCH_MSG_TOKEN", note="needs an MQGMO of version 3; not with MQGMO_WAIT"),
    ),
    refusal=mq.MQRC_MATCH_OPTIONS_ERROR,
)
INQUIRE_PROPERTY = OptionTable(
    (
        Option("MQIMPO_INQ_NEXT"),
        Option("MQIMPO_INQ_PROP_UNDER_CURSOR"),
        Option("MQIMPO_CONVERT_TYPE"),
        Option("MQIMPO_CONVERT_VALUE", note="values are in the program's form as they are"),
        Option("MQIMPO_QUERY_LENGTH"),
    ),
    exclusive=(mq.MQIMPO_INQ_NEXT | mq.MQIMPO_INQ_PROP_UNDER_CURSOR,),
)
CREATE_HANDLE = OptionTable(
    (
        Option("MQCMHO_NO_VALIDATION", note="taken; names are validated when they are set"),
        Option("MQCMHO_VALIDATE"),
    ),
    exclusive=(mq.MQCMHO_NO_VALIDATION | mq.MQCMHO_VALIDATE,),
)
DELETE_HANDLE = OptionTable(())
SET_PROPERTY = OptionTable(
    (
        Option("MQSMPO_SET_PROP_UNDER_CURSOR", mq.MQRC_OPTIONS_ERROR),
        Option("MQSMPO_SET_PROP_AFTER_CURSOR", mq.MQRC_OPTIONS_ERROR),
        Option("MQSMPO_APPEND_PROPERTY", mq.MQRC_OPTIONS_ERROR),
        Option("MQSMPO_SET_PROP_BEFORE_CURSOR", mq.MQRC_OPTIONS_ERROR),
    )
)
DELETE_PROPERTY = OptionTable((Option("MQDMPO_DEL_PROP_UNDER_CURSOR"),))
DESCRIBED = OptionTable((), refusal=mq.MQRC_PD_ERROR)
SUPPORT = OptionTable(
    (
        Option("MQPD_SUPPORT_OPTIONAL"),
        Option("MQPD_SUPPORT_REQUIRED", UNSUPPORTED),
        Option("MQPD_SUPPORT_REQUIRED_IF_LOCAL", UNSUPPORTED),
    ),
    refusal=mq.MQRC_PD_ERROR,
)
CONTEXT = OptionTable((Option("MQPD_USER_CONTEXT", UNSUPPORTED),), refusal=mq.MQRC_PD_ERROR)
IS_COPIED = "copied as MQCOPY_DEFAULT says"
COPY = OptionTable(
    (
        Option("MQCOPY_ALL", UNSUPPORTED),
        Option("MQCOPY_FORWARD", note=IS_COPIED),
        Option("MQCOPY_PUBLISH", note=IS_COPIED),
        Option("MQCOPY_REPLY", UNSUPPORTED),
        Option("MQCOPY_REPORT", note=IS_COPIED),
    ),
    refusal=mq.MQRC_PD_ERROR,
)
