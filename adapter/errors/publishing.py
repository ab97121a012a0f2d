"""Errors of publishing and subscribing."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.errors.root import Error


class PublishError(Error):
    """Publishing or subscribing failed, or was not done in full."""


class TopicNotAlterable(PublishError):
    """The topic of a subscription cannot be changed."""

    reason, reason_name = 2510, "MQRC_TOPIC_NOT_ALTERABLE"


class DurabilityNotAlterable(PublishError):
    """The durability of a subscription cannot be changed."""

    reason, reason_name = 2509, "MQRC_DURABILITY_NOT_ALTERABLE"


class LevelNotAlterable(PublishError):
    """The level of a subscription cannot be changed."""

    reason, reason_name = 2512, "MQRC_SUBLEVEL_NOT_ALTERABLE"


class SelectorNotAlterable(PublishError):
    """The selector of a subscription cannot be changed."""

    reason, reason_name = 2524, "MQRC_SELECTOR_NOT_ALTERABLE"


class DestinationClassNotAlterable(PublishError):
    """Whether a subscription's queue is managed or provided cannot be changed."""

    reason, reason_name = 2533, "MQRC_DEST_CLASS_NOT_ALTERABLE"


class PublicationFailed(PublishError):
    """A durable subscription could not get its copy, so that no subscription got one."""

    reason, reason_name = 2502, "MQRC_PUBLICATION_FAILURE"


class NoSubscribers(PublishError):
    """A warning: no subscription matches the topic."""

    reason, reason_name = 2550, "MQRC_NO_SUBS_MATCHED"


class SubscriptionNotFound(PublishError):
    """The subscription does not exist."""

    reason, reason_name = 2428, "MQRC_NO_SUBSCRIPTION"


class SubscriptionInUse(PublishError):
    """A program has the subscription open."""

    reason, reason_name = 2429, "MQRC_SUBSCRIPTION_IN_USE"


class SubscriptionExists(PublishError):
    """A subscription of that name already exists."""

    reason, reason_name = 2432, "MQRC_SUB_ALREADY_EXISTS"


class SubscribeInhibited(PublishError):
    """The topic does not accept subscriptions."""

    reason, reason_name = 2503, "MQRC_SUB_INHIBITED"


class DurabilityNotAllowed(PublishError):
    """The topic does not accept durable subscriptions."""

    reason, reason_name = 2436, "MQRC_DURABILITY_NOT_ALLOWED"


class RetainedQueueError(PublishError):
    """The publication could not be retained, and was not made."""

    reason, reason_name = 2525, "MQRC_RETAINED_MSG_Q_ERROR"


class RetainedNotDelivered(PublishError):
    """A retained publication could not be put to the subscription's queue; a warning if the
    subscription was just made.
    """

    reason, reason_name = 2526, "MQRC_RETAINED_NOT_DELIVERED"


class NoRetainedMessage(PublishError):
    """No publication is retained for the subscription's topics."""

    reason, reason_name = 2437, "MQRC_NO_RETAINED_MSG"
