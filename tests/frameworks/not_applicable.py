"""Tests of the frameworks' suites that are left out, by suite and reason."""

NOT_APPLICABLE: dict[str, dict[str, list[str]]] = {"kombu": {}, "celery": {}, "dramatiq": {}}
