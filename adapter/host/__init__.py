"""What this machine and its administrator give: processes, files, addresses, certificates, logs,
settings.

This floor knows no queue manager.
"""
