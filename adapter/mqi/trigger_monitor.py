"""The published name of the trigger monitor for programs of MQ; the monitor is a service."""

from adapter.services.trigger_monitor import TriggerMonitor

__all__ = ["TriggerMonitor"]
