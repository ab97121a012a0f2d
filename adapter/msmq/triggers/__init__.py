"""Message Queuing Triggers: programs and functions that messages start.

A TriggerService monitors queues, and carries out the actions of rules whose conditions hold.
"""

from adapter.msmq.triggers.actions import Call as Call
from adapter.msmq.triggers.actions import MessageProperty as MessageProperty
from adapter.msmq.triggers.actions import Run as Run
from adapter.msmq.triggers.actions import TriggerId as TriggerId
from adapter.msmq.triggers.actions import TriggerName as TriggerName
from adapter.msmq.triggers.activations import Activation as Activation
from adapter.msmq.triggers.activations import Peek as Peek
from adapter.msmq.triggers.conditions import AppSpecificEquals as AppSpecificEquals
from adapter.msmq.triggers.conditions import AppSpecificGreaterThan as AppSpecificGreaterThan
from adapter.msmq.triggers.conditions import AppSpecificLessThan as AppSpecificLessThan
from adapter.msmq.triggers.conditions import AppSpecificNotEqual as AppSpecificNotEqual
from adapter.msmq.triggers.conditions import BodyContains as BodyContains
from adapter.msmq.triggers.conditions import BodyDoesNotContain as BodyDoesNotContain
from adapter.msmq.triggers.conditions import LabelContains as LabelContains
from adapter.msmq.triggers.conditions import LabelDoesNotContain as LabelDoesNotContain
from adapter.msmq.triggers.conditions import PriorityEquals as PriorityEquals
from adapter.msmq.triggers.conditions import PriorityGreaterThan as PriorityGreaterThan
from adapter.msmq.triggers.conditions import PriorityLessThan as PriorityLessThan
from adapter.msmq.triggers.conditions import PriorityNotEqual as PriorityNotEqual
from adapter.msmq.triggers.conditions import SourceComputerEquals as SourceComputerEquals
from adapter.msmq.triggers.conditions import SourceComputerNotEqual as SourceComputerNotEqual
from adapter.msmq.triggers.current import current_host as current_host
from adapter.msmq.triggers.model import Processing as Processing
from adapter.msmq.triggers.model import Rule as Rule
from adapter.msmq.triggers.model import Trigger as Trigger
from adapter.msmq.triggers.service import TriggerService as TriggerService
