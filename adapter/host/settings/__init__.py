"""What an administrator sets: settings, their files, keys of ledgers, rights on Kafka."""
