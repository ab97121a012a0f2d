"""Administration of objects, over the SDK: kinds and values, MQSC and PCF.

It does not know what a verb of the MQI means.
"""
