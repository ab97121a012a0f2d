"""A schema registry over HTTP, by the official client: Confluent's, Apicurio's, Karapace's, ours.

The address of Apicurio's ends with /apis/ccompat/v7. The client's own serializers are not used, so
that no subject is ever named by a strategy that was not chosen. Nor are its caches: they answer for
the registry for ever, also of what was deleted since. Schemas by id, which stay, are kept by what
reads values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from adapter.errors import InvalidOption, RegistryNotAvailable, SchemaError
from adapter.host import texts
from adapter.registry import codes, rules
from adapter.registry.port import LATEST, Latest, Level, Registered

TIMEOUT_S = 10.0
"""Of one request. A registry answers in milliseconds."""
RETRIES = 2
RETRY_WAIT_MS = 200
RETRY_WAIT_MS_MAX = 1000
FOREIGN = (ValueError, KeyError, TypeError, AttributeError, RecursionError)
"""What the client raises of an answer that is not the API's, as another server's page."""
NOT_THE_CLIENTS = -1  # its code for an answer that is not the API's

Answer = TypeVar("Answer")


class RestRegistry:
    """A SchemaRegistry at a URL; a comma list of them is tried in order.

    options: further settings of confluent_kafka's SchemaRegistryClient, as basic.auth.user.info or
    ssl.ca.location. Nothing is asked before the first call. Raises InvalidOption for settings that
    the client does not take, or if the client's packages are not installed.
    """

    def __init__(self, url: str, options: Mapping[str, Any] | None = None) -> None:
        self.url = texts.without_login(url)
        try:
            # A quarter of a second, which a program without a registry does not spend.
            import httpx2 as httpx  # noqa: PLC0415
            from confluent_kafka import schema_registry as official  # noqa: PLC0415
        except ImportError as missing:
            raise InvalidOption(
                f"a registry over HTTP needs the package {missing.name}: install mqk with the "
                "extra `registry`, as in `pip install '.[registry]'` in its sources",
                self.url,
            ) from missing
        self._official = official
        self._away = (httpx.HTTPError, httpx.InvalidURL, OSError)
        settings = {
            "timeout": TIMEOUT_S,
            "max.retries": RETRIES,
            "retries.wait.ms": RETRY_WAIT_MS,
            "retries.max.wait.ms": RETRY_WAIT_MS_MAX,
            **(options or {}),
            "url": url,
        }
        try:
            self._client = official.SchemaRegistryClient(settings)
        except (ValueError, TypeError, OSError) as error:
            why = texts.without_login(str(error))
            raise InvalidOption(
                f"no registry can be asked at {self.url!r}: {why}", self.url
            ) from None

    def schema(self, schema_id: int) -> str:
        found = self._ask(f"schema {schema_id}", lambda: self._client.get_schema(schema_id))
        return self._text(found, f"schema {schema_id}")

    def version(self, subject: str, version: int | Latest = LATEST) -> Registered:
        if version == LATEST:
            found = self._ask(subject, lambda: self._client.get_latest_version(subject))
        else:
            found = self._ask(subject, lambda: self._client.get_version(subject, version))
        return self._registered(found)

    def subjects(self) -> list[str]:
        found: list[str] = self._ask("", lambda: sorted(self._client.get_subjects()))
        return found

    def versions(self, subject: str) -> list[int]:
        found: list[int] = self._ask(subject, lambda: list(self._client.get_versions(subject)))
        return found

    def register(self, subject: str, schema: str) -> int:
        return self._ask(
            subject, lambda: self._client.register_schema(subject, self._schema(schema))
        )

    def lookup(self, subject: str, schema: str) -> Registered:
        found = self._ask(
            subject, lambda: self._client.lookup_schema(subject, self._schema(schema))
        )
        return self._registered(found)

    def check(self, subject: str, schema: str) -> list[str]:
        asked = self._schema(schema)
        fits = self._ask(
            subject, lambda: self._client.test_compatibility_all_versions(subject, asked)
        )
        return [] if fits else [f"the registry at {self.url} reports that it is incompatible"]

    def level(self, subject: str | None = None) -> str:
        try:
            return self._ask(subject or "", lambda: self._client.get_compatibility(subject))
        except SchemaError as error:
            if subject is not None and error.code in (codes.NO_LEVEL, codes.NO_SUBJECT):
                return self.level()
            raise

    def set_level(self, level: Level, subject: str | None = None) -> None:
        self._ask(subject or "", lambda: self._client.set_compatibility(subject, level))

    def delete_version(self, subject: str, version: int, *, permanent: bool = False) -> None:
        self._ask(
            subject, lambda: self._client.delete_version(subject, version, permanent=permanent)
        )

    def delete_subject(self, subject: str, *, permanent: bool = False) -> list[int]:
        found: list[int] = self._ask(
            subject, lambda: self._client.delete_subject(subject, permanent=permanent)
        )
        return found

    def close(self) -> None:
        self._client.close()

    def _schema(self, text: str) -> Any:
        return self._official.Schema(text, schema_type="AVRO")

    def _ask(self, subject: str, question: Callable[[], Answer]) -> Answer:
        """Ask, and say what went wrong in our own words."""
        if subject in rules.NO_PARTS:
            why = f"{subject!r} is no subject's name: it has no place in a URL"
            raise codes.refusal(codes.UNPROCESSABLE, why, subject)
        try:
            self._client.clear_caches()  # type: ignore[no-untyped-call]
            return question()
        except self._official.SchemaRegistryError as error:
            raise self._refusal(error, subject) from error
        except FOREIGN as error:
            raise self._stranger(subject, repr(error)) from error
        except self._away as error:
            why = texts.without_login(str(error)) or type(error).__name__
            raise RegistryNotAvailable(
                f"the schema registry at {self.url} does not answer: {why}; check its address and "
                "that it runs, then try again",
                subject,
            ) from error

    def _stranger(self, subject: str, why: str) -> RegistryNotAvailable:
        return RegistryNotAvailable(
            f"what answers at {self.url} is no schema registry ({texts.without_login(why):.200}): "
            "check its address, and what stands between",
            subject,
        )

    def _refusal(self, error: Any, subject: str) -> SchemaError:
        said = f"the schema registry at {self.url} says: {error.error_message}"
        code = error.error_code
        if not isinstance(code, int) or code == NOT_THE_CLIENTS:
            return codes.refusal(int(error.http_status_code), said, subject)
        return codes.refusal(code, said, subject)

    def _registered(self, found: Any) -> Registered:
        name = f"{found.subject} version {found.version}"
        if not (isinstance(found.version, int) and isinstance(found.schema_id, int)):
            raise self._stranger(str(found.subject), f"{found.version!r}, {found.schema_id!r}")
        return Registered(
            found.subject, found.version, found.schema_id, self._text(found.schema, name)
        )

    def _text(self, schema: Any, name: str) -> str:
        if (schema.schema_type or "AVRO") != "AVRO":
            raise SchemaError(
                f"{name} in the registry at {self.url} is of type {schema.schema_type}; only Avro "
                "is read here"
            )
        if schema.references:
            raise SchemaError(
                f"{name} in the registry at {self.url} refers to other subjects, which is not read "
                "here: register it with their definitions inside"
            )
        text = schema.schema_str
        if not isinstance(text, str):
            raise self._stranger(name, f"a schema of type {type(text).__name__}")
        return text
