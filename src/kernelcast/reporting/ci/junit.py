"""JUnit XML, as Jenkins, GitLab and others read it.

Of a gate there is a test case for each check: a broken bound is a failure, one that cannot be told
an error, neither has passed. Of checked kernels there is one for each kernel.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from xml.etree import ElementTree

from kernelcast.reporting.documents.check import CheckDocument, MisusePart
from kernelcast.reporting.documents.gate import CheckPart, GateDocument
from kernelcast.reporting.text.check import line_words, misuse_words, thread_words
from kernelcast.reporting.text.gate import place_words

_TAGS = {"broken": "failure", "cannot tell": "error"}
_FORBIDDEN = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 has no place for (section 2.2)."""


@dataclass(frozen=True, slots=True)
class _Failing:
    """Why a test case has not passed."""

    tag: str
    kind: str
    message: str
    text: str


@dataclass(frozen=True, slots=True)
class _TestCase:
    classname: str
    name: str
    remark: _Failing | None


def junit(document: GateDocument) -> bytes:
    """A gate as a file of JUnit XML."""
    return _file("kernelcast gate", [_case_of_check(check) for check in document.checks])


def junit_of_check(document: CheckDocument) -> bytes:
    """Checked kernels as a file of JUnit XML."""
    subject = " ".join(document.subject)
    cases = [
        _TestCase(
            subject,
            kernel.kernel,
            _remark([m for m in document.misuses if m.kernel == kernel.kernel]),
        )
        for kernel in document.kernels
    ]
    failed = [
        _TestCase(subject, f"launch {number}", _Failing("error", "failed", failure, failure))
        for number, failure in enumerate(document.failures, 1)
    ]
    return _file("kernelcast check", [*cases, *failed])


def _case_of_check(check: CheckPart) -> _TestCase:
    remark = None
    if tag := _TAGS.get(check.status):
        text = "\n".join([place_words(check), *check.causes])
        remark = _Failing(tag, check.status, check.message, text)
    return _TestCase(f"{check.file}.{check.title} on {check.gpu}", check.rule, remark)


def _remark(misuses: Sequence[MisusePart]) -> _Failing | None:
    if not misuses:
        return None
    lines = []
    for misuse in misuses:
        where = "" if misuse.place is None else f"{line_words(misuse.place)}: "
        lines.append(f"{where}{misuse.kind}: {misuse_words(misuse)}")
        if misuse.other is not None:
            lines.append(f"  the other: {thread_words(misuse.other)}")
    return _Failing("failure", misuses[0].kind, lines[0], "\n".join(lines))


def _file(name: str, cases: Sequence[_TestCase]) -> bytes:
    tags = [case.remark.tag for case in cases if case.remark is not None]
    counts = {
        "tests": str(len(cases)),
        "failures": str(tags.count("failure")),
        "errors": str(tags.count("error")),
    }
    root = ElementTree.Element("testsuites", counts)
    suite = ElementTree.SubElement(root, "testsuite", {"name": name, **counts})
    suite.extend(map(_element, cases))
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _element(case: _TestCase) -> ElementTree.Element:
    element = ElementTree.Element(
        "testcase", {"classname": _printable(case.classname), "name": _printable(case.name)}
    )
    if (remark := case.remark) is not None:
        told = ElementTree.SubElement(
            element, remark.tag, {"message": _printable(remark.message), "type": remark.kind}
        )
        told.text = _printable(remark.text)
    return element


def _printable(text: str) -> str:
    return _FORBIDDEN.sub("?", text)
