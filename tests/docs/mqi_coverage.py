"""docs/reference/mqi-coverage.md, from the tables of adapter.mqi. See tests.docs.reference."""

import importlib
import inspect
import re
from types import ModuleType

from adapter import character_sets
from adapter.mqi import built_in_formats, inquiring, options, structs
from adapter.mqi.options import Option

INTRODUCTION = """# What of the MQI is there

This is what programs find that use IBM's package `ibmmq`, or `pymqi`, over mqk: see [From IBM
MQ](../from-ibm-mq.md). What stands in none of these tables is refused, never passed over: an option
that is unknown gives MQRC_OPTIONS_ERROR (2046; 2247 of what MQGET matches, 2482 in an MQPD), one
that is not to be had the code beside it.
"""
TABLES = (
    ("MQCONNX", options.CONNECT),
    ("MQOPEN", options.OPEN),
    ("MQCLOSE", options.CLOSE),
    ("MQPUT", options.PUT),
    ("MQPUT1", options.PUT1),
    ("MQSUB", options.SUBSCRIBE),
    ("MQSUBRQ", options.REQUEST),
    ("MQGET", options.GET),
    ("MQGET: what is matched", options.MATCH),
    ("MQCRTMH", options.CREATE_HANDLE),
    ("MQSETMP", options.SET_PROPERTY),
    ("MQSETMP: MQPD.Support", options.SUPPORT),
    ("MQSETMP: MQPD.Context", options.CONTEXT),
    ("MQSETMP: MQPD.CopyOptions", options.COPY),
    ("MQINQMP", options.INQUIRE_PROPERTY),
    ("MQDLTMP", options.DELETE_PROPERTY),
)
VERB = re.compile("MQ|mqai")
NOTES = {
    "MQBEGIN": "warns with 2121: there are no other resource managers",
    "MQSUB": "without SubExpiry: refused with 2298",
    "MQLOGCF": "there is nothing to trace",
    "MQSTAT": "asynchronous puts; other types are refused with 2430",
    "MQSETMP": "without options",
    "MQCRTMH": "",
    "mqaiExecute": "pymqi has it and does not call it",
}


def page(made: str) -> str:
    """The whole page."""
    parts = [made, INTRODUCTION, *functions(), *tables(), *attributes(), *others()]
    return "\n".join(parts)


def functions() -> list[str]:
    """The functions of the two extension modules."""
    ours = {name: importlib.import_module(name) for name in ("ibmmqc", "pymqe")}
    names = sorted({name for module in ours.values() for name in _verbs(module)})
    rows = [
        f"| {name} | {_mark(ours['ibmmqc'], name)} | {_mark(ours['pymqe'], name)} "
        f"| {NOTES.get(name, '')} |"
        for name in names
    ]
    return ["## Functions\n", "| | ibmmq | pymqi | |\n|---|---|---|---|", *rows, ""]


def _verbs(module: ModuleType) -> list[str]:
    return [name for name, _ in inspect.getmembers(module, inspect.isroutine) if VERB.match(name)]


def _mark(module: ModuleType, name: str) -> str:
    return "yes" if name in _verbs(module) else "-"


def tables() -> list[str]:
    """The options of each verb."""
    parts = []
    for verb, table in TABLES:
        parts += [f"## Options of {verb}\n", "| option | | |\n|---|---|---|"]
        parts += [f"| {option.name} | {_taken(option)} | {option.note} |" for option in table.table]
        parts.append("")
    return parts


def _taken(option: Option) -> str:
    return f"refused: {option.refused}" if option.refused else "taken"


def attributes() -> list[str]:
    """What MQINQ and MQSET know."""
    numbers = ", ".join(map(str, sorted(inquiring.STATUS)))
    said = (
        "MQINQ answers for every attribute that [attributes](attributes.md) has for that type of "
        f"object, and for the object's name; of local queues also {numbers} (depth, opens for "
        "input and output). Other attributes of the manual give 2068, a warning, of queues, and "
        "2067 of other objects, as does what is no attribute. MQSET changes:\n"
    )
    parts = ["## MQINQ and MQSET\n", said, "| number | attribute |\n|---|---|"]
    for number, row in sorted(inquiring.BY_NUMBER["queue"].items()):
        if row.attribute.by_set:
            parts.append(f"| {number} | {row.attribute.keyword} |")
    return [*parts, ""]


def others() -> list[str]:
    """Structures and character sets."""
    layouts = [one for one in vars(structs).values() if isinstance(one, structs.Layout)]
    sizes = [f"| {one.name} | {one.size} |" for one in sorted(layouts, key=lambda one: one.name)]
    sets = ", ".join(map(str, sorted(character_sets.CODECS)))
    formats = ", ".join(built_in_formats.FORMATS)
    said = (
        f"MQGMO_CONVERT converts the formats {formats}, and what follows the headers among them, "
        f"to the encoding and the character set of the MQMD of the get: {sets}. A body of another "
        "format, or one that does not have the layout of its format, stays as it is, with the "
        "warning 2110; so does such a part behind a header, which then describes it.\n"
    )
    older = "\nMQCD and MQSCO have two sizes: pymqi's are older.\n"
    heading = "| structure | bytes |\n|---|---|"
    return ["## Structures\n", heading, *sizes, older, "## Character sets\n", said]
