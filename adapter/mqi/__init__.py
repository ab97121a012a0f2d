"""What programs written for IBM MQ know: the interface of verbs and structures, and its tools.

This room sits on the SDK; what a verb means is not known here.
"""

from adapter.mqi.installation import install
from adapter.services.trigger_message import TriggerMessage

__all__ = ["TriggerMessage", "install"]
