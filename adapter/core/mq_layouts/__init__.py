"""Byte layouts of IBM MQ that the queue manager itself writes: dead-letter header, trigger message.

The only place of core that knows an encoding; programs read these bytes by MQ's manual. It does not
know when one is written.
"""
