"""The attributes of objects: one table for the SDK, MQSC, PCF and DISPLAY alike.

table: what a row says. queue, objects: the rows of each kind of object. unsupported: attributes of
IBM MQ whose feature does not exist here, with the one value that holds. This package does not know
what an attribute causes: that is in core.rules.
"""
