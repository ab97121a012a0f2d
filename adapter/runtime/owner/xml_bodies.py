"""The checks of bodies as core asks for them.

Most queue managers check none: what reads XML is imported for the first one.
"""

from __future__ import annotations


class XmlBodies:
    """See core.model.xml_port."""

    def why_no_schema(self, schema: str) -> str:
        """Say why a text is no XML schema; empty: it is one."""
        from adapter.runtime.xml_validation import check_schema  # noqa: PLC0415

        try:
            check_schema(schema)
        except ValueError as error:
            return str(error)
        return ""

    def why_invalid(self, validation: str, schema: str, body: bytes) -> str:
        """Say why a body is not valid; empty: it is."""
        from adapter.runtime.xml_validation import why_invalid  # noqa: PLC0415

        return why_invalid(validation, schema, body)  # type: ignore[arg-type]
