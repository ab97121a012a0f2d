"""What this machine and its system give: processes, files, addresses, certificates, logs, settings.

This floor knows no queue manager, and imports nothing of the others but errors.
"""
