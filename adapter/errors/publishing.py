"""Errors of publishing and subscribing."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class PublishError(Error):
    """Publishing or subscribing could not be done, or not as it was asked for."""


class TopicNotAlterable(PublishError):
    """A subscription's topic cannot be another one."""

    reason, reason_name = 2510, "MQRC_TOPIC_NOT_ALTERABLE"


class DurabilityNotAlterable(PublishError):
    """A subscription is durable or not for as long as it is there."""

    reason, reason_name = 2509, "MQRC_DURABILITY_NOT_ALTERABLE"


class LevelNotAlterable(PublishError):
    """A subscription stays at its level."""

    reason, reason_name = 2512, "MQRC_SUBLEVEL_NOT_ALTERABLE"


class SelectorNotAlterable(PublishError):
    """Which publications a subscription selects stays."""

    reason, reason_name = 2524, "MQRC_SELECTOR_NOT_ALTERABLE"


class DestinationClassNotAlterable(PublishError):
    """Whether a subscription's queue is managed or provided stays."""

    reason, reason_name = 2533, "MQRC_DEST_CLASS_NOT_ALTERABLE"


class PublicationFailed(PublishError):
    """A durable subscription could not be given its copy, so nobody was given one."""

    reason, reason_name = 2502, "MQRC_PUBLICATION_FAILURE"


class NoSubscribers(PublishError):
    """A warning: no subscription means the topic."""

    reason, reason_name = 2550, "MQRC_NO_SUBS_MATCHED"


class SubscriptionNotFound(PublishError):
    """There is no subscription of that name."""

    reason, reason_name = 2428, "MQRC_NO_SUBSCRIPTION"


class SubscriptionInUse(PublishError):
    """A program has the subscription open."""

    reason, reason_name = 2429, "MQRC_SUBSCRIPTION_IN_USE"


class SubscriptionExists(PublishError):
    """There is a subscription of that name."""

    reason, reason_name = 2432, "MQRC_SUB_ALREADY_EXISTS"


class SubscribeInhibited(PublishError):
    """The topic takes no subscriptions."""

    reason, reason_name = 2503, "MQRC_SUB_INHIBITED"


class DurabilityNotAllowed(PublishError):
    """The topic takes no durable subscriptions."""

    reason, reason_name = 2436, "MQRC_DURABILITY_NOT_ALLOWED"


class RetainedQueueError(PublishError):
    """The publication could not be retained, and was not made."""

    reason, reason_name = 2525, "MQRC_RETAINED_MSG_Q_ERROR"


class RetainedNotDelivered(PublishError):
    """The subscription's queue could not take what is retained for it; a warning if it was just
    made.
    """

    reason, reason_name = 2526, "MQRC_RETAINED_NOT_DELIVERED"


class NoRetainedMessage(PublishError):
    """Nothing is retained for the subscription's topics."""

    reason, reason_name = 2437, "MQRC_NO_RETAINED_MSG"
