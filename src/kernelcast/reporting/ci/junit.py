"""A gate as JUnit XML, as Jenkins, GitLab and others read it: a test case for each check.

A broken bound is a failure, one that cannot be told an error: neither has passed.
"""

from __future__ import annotations

import re
from xml.etree import ElementTree

from kernelcast.reporting.documents.gate import CheckPart, GateDocument
from kernelcast.reporting.text.gate import place_words

_TAGS = {"broken": "failure", "cannot tell": "error"}
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for (section 2.2)."""


def junit(document: GateDocument) -> bytes:
    """The document as a file of JUnit XML."""
    counts = {
        "tests": str(len(document.checks)),
        "failures": str(document.broken),
        "errors": str(document.untold),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": "kernelcast gate", **counts})
    for check in document.checks:
        suite.append(_case(check))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _case(check: CheckPart) -> ElementTree.Element:
    case = ElementTree.Element(
        "testcase",
        {
            "classname": _printable(f"{check.file}.{check.title} on {check.gpu}"),
            "name": _printable(check.rule),
        },
    )
    if tag := _TAGS.get(check.status):
        told = ElementTree.SubElement(
            case, tag, {"message": _printable(check.message), "type": check.status}
        )
        told.text = _printable("\n".join([place_words(check), *check.causes]))
    return case


def _printable(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
