"""The attributes that a program may give, with their types, for type checkers and editors.

The table of core says the same and more, and judges the values; a test compares the two.
"""

from __future__ import annotations

from typing import Literal, TypedDict


class QueueSettings(TypedDict, total=False):
    """What Queue.set() takes."""

    inhibit_put: bool
    inhibit_get: bool
    trigger_control: bool
    trigger_type: Literal["NONE", "FIRST", "EVERY", "DEPTH"]
    trigger_depth: int
    trigger_msg_priority: int
    trigger_data: str


class QueueDefinition(QueueSettings, total=False):
    """What define_queue() and alter_queue() take."""

    description: str
    def_priority: int
    def_persistence: bool
    max_depth: int
    max_message_length: int
    msg_delivery_sequence: Literal["PRIORITY", "FIFO"]
    share: bool
    def_input_open_option: Literal["SHARED", "EXCLUSIVE"]
    backout_threshold: int
    backout_requeue_queue: str
    backout_action: Literal["PROGRAM", "MOVE"]
    harden_get_backout: bool
    usage: Literal["NORMAL", "XMITQ"]
    initiation_queue: str
    process: str
    expiry_cap: int
    property_control: Literal["COMPAT", "NONE", "ALL", "FORCE", "V6COMPAT"]


class QueueManagerSettings(TypedDict, total=False):
    """What alter_queue_manager() takes."""

    description: str
    channel_rules: Literal["DISABLED", "ENABLED"]
    trigger_interval_ms: int
    depth_trigger_disables: bool
    every_triggers_on_backout: bool
    statistics_interval_s: int
    dead_letter_queue: str
    default_transmission_queue: str
    mark_interval_ms: int
    connection_auth: str
    msmq_level: int
    msmq_computer: str
    msmq_quota_kb: int
    msmq_journal_quota_kb: int
