"""What crosses the border of core: commands, results, records, reasons, and messages.

Faces and the wire know this package and no rule. It does not know what a verb means.
"""
