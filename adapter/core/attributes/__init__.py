"""The attributes of objects: one table for the SDK, MQSC, PCF and DISPLAY alike.

table: what a row says. queue, objects: the rows of each kind of object. This room does not know
what an attribute causes: that is in core.rules.
"""
