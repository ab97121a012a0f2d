"""Errors of publishing and subscribing."""

# ruff: noqa: N818 -- these are published names

from __future__ import annotations

from adapter.core.contract.reasons import Reason
from adapter.errors.root import Error, raised_for


class PublishError(Error):
    """Publishing or subscribing failed, or was not done in full."""


@raised_for(
    Reason.TOPIC_NOT_ALTERABLE,
    "the topic of subscription {name} cannot be changed",
    "remove the subscription, and create a new one",
)
class TopicNotAlterable(PublishError):
    """The topic of a subscription cannot be changed."""

    reason, reason_name = 2510, "MQRC_TOPIC_NOT_ALTERABLE"


@raised_for(
    Reason.DURABILITY_NOT_ALTERABLE,
    "the durability of subscription {name} cannot be changed",
    "remove the subscription, and create a new one",
)
class DurabilityNotAlterable(PublishError):
    """The durability of a subscription cannot be changed."""

    reason, reason_name = 2509, "MQRC_DURABILITY_NOT_ALTERABLE"


@raised_for(
    Reason.LEVEL_NOT_ALTERABLE,
    "the level of subscription {name} cannot be changed",
    "remove the subscription, and create a new one",
)
class LevelNotAlterable(PublishError):
    """The level of a subscription cannot be changed."""

    reason, reason_name = 2512, "MQRC_SUBLEVEL_NOT_ALTERABLE"


@raised_for(
    Reason.SELECTOR_NOT_ALTERABLE,
    "the selector of subscription {name} cannot be changed",
    "remove the subscription, and create a new one",
)
class SelectorNotAlterable(PublishError):
    """The selector of a subscription cannot be changed."""

    reason, reason_name = 2524, "MQRC_SELECTOR_NOT_ALTERABLE"


@raised_for(
    Reason.DESTINATION_CLASS_NOT_ALTERABLE,
    "the destination class of subscription {name} cannot be changed",
    "remove the subscription, and create a new one",
)
class DestinationClassNotAlterable(PublishError):
    """Whether a subscription's queue is managed or provided cannot be changed."""

    reason, reason_name = 2533, "MQRC_DEST_CLASS_NOT_ALTERABLE"


@raised_for(
    Reason.PUBLICATION_FAILED,
    "the publication on topic {name} was not delivered to all subscriptions",
    "check the queue that is named, and publish again",
)
class PublicationFailed(PublishError):
    """A durable subscription could not get its copy, so that no subscription got one."""

    reason, reason_name = 2502, "MQRC_PUBLICATION_FAILURE"


@raised_for(
    Reason.NO_SUBSCRIBERS, "no subscription matches topic {name}", "ignore this if that is expected"
)
class NoSubscribers(PublishError):
    """A warning: no subscription matches the topic."""

    reason, reason_name = 2550, "MQRC_NO_SUBS_MATCHED"


@raised_for(
    Reason.SUBSCRIPTION_NOT_FOUND,
    "subscription {name} does not exist",
    "check the name, or create the subscription",
)
class SubscriptionNotFound(PublishError):
    """The subscription does not exist."""

    reason, reason_name = 2428, "MQRC_NO_SUBSCRIPTION"


@raised_for(
    Reason.SUBSCRIPTION_IN_USE,
    "subscription {name} is in use",
    "close it in the other program first",
)
class SubscriptionInUse(PublishError):
    """A program has the subscription open."""

    reason, reason_name = 2429, "MQRC_SUBSCRIPTION_IN_USE"


@raised_for(
    Reason.SUBSCRIPTION_EXISTS,
    "subscription {name} already exists",
    "resume it, or choose another name",
)
class SubscriptionExists(PublishError):
    """A subscription of that name already exists."""

    reason, reason_name = 2432, "MQRC_SUB_ALREADY_EXISTS"


@raised_for(
    Reason.SUBSCRIBE_INHIBITED,
    "topic {name} does not accept subscriptions",
    "alter the topic object: its SUB attribute is DISABLED",
)
class SubscribeInhibited(PublishError):
    """The topic does not accept subscriptions."""

    reason, reason_name = 2503, "MQRC_SUB_INHIBITED"


@raised_for(
    Reason.DURABILITY_NOT_ALLOWED,
    "topic {name} does not accept durable subscriptions",
    "make the subscription non-durable, or alter the topic object",
)
class DurabilityNotAllowed(PublishError):
    """The topic does not accept durable subscriptions."""

    reason, reason_name = 2436, "MQRC_DURABILITY_NOT_ALLOWED"


@raised_for(
    Reason.RETAINED_QUEUE_ERROR,
    "the retained publication was not stored",
    "check SYSTEM.RETAINED.PUB.QUEUE, or retain fewer publications",
)
class RetainedQueueError(PublishError):
    """The publication could not be retained, and was not made."""

    reason, reason_name = 2525, "MQRC_RETAINED_MSG_Q_ERROR"


@raised_for(
    Reason.RETAINED_NOT_DELIVERED,
    "a retained publication was not put to the subscription's queue",
    "check the queue, and request it again",
)
class RetainedNotDelivered(PublishError):
    """A retained publication could not be put to the subscription's queue; a warning if the
    subscription was just made.
    """

    reason, reason_name = 2526, "MQRC_RETAINED_NOT_DELIVERED"


@raised_for(
    Reason.NO_RETAINED_MESSAGE,
    "no publication is retained for topic {name}",
    "publish with retain, or wait for publications",
)
class NoRetainedMessage(PublishError):
    """No publication is retained for the subscription's topics."""

    reason, reason_name = 2437, "MQRC_NO_RETAINED_MSG"
