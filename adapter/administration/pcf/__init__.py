"""PCF: administration by messages, as programs do it: structures, commands, and their server.

It knows the layouts and numbers; what a command does is the queue manager's business, reached over
the SDK.
"""
