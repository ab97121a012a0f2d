"""MQSC: the commands that administrators of MQ type, read, executed and answered.

It knows the language; what a command does is the queue manager's business, reached over the SDK.
"""
