"""Lines that CI systems turn into remarks beside the code: one for each bound that does not hold.

GitHub: Workflow commands for GitHub Actions. Microsoft: Logging commands of Azure Pipelines.
JetBrains: Service messages of TeamCity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from kernelcast.reporting.documents.gate import CheckPart, GateDocument

_LEVELS = {"broken": "error", "cannot tell": "warning"}
BY_ENVIRONMENT: Mapping[str, str] = {
    "GITHUB_ACTIONS": "github",
    "TF_BUILD": "azure",
    "TEAMCITY_VERSION": "teamcity",
}
"""The variable by which each system says that it runs a job."""


def annotation_lines(document: GateDocument, system: str) -> Iterator[str]:
    """The lines for one of `SYSTEMS`."""
    for check in document.checks:
        if check.status in _LEVELS:
            yield SYSTEMS[system](check)


def _message(check: CheckPart) -> str:
    return "\n".join([f"{check.title} on {check.gpu}: {check.message}", *check.causes])


def _replaced(text: str, pairs: Mapping[str, str]) -> str:
    return "".join(pairs.get(character, character) for character in text)


def _github(check: CheckPart) -> str:
    data = {"%": "%25", "\r": "%0D", "\n": "%0A"}
    named = data | {":": "%3A", ",": "%2C"}
    line = "" if check.line is None else f",line={check.line}"
    title = _replaced(f"kernelcast: {check.status}", named)
    place = f"file={_replaced(check.file, named)}{line},title={title}"
    return f"::{_LEVELS[check.status]} {place}::{_replaced(_message(check), data)}"


def _azure(check: CheckPart) -> str:
    data = {"%": "%AZP25", "\r": "%0D", "\n": "%0A"}
    named = data | {";": "%3B", "]": "%5D"}
    line = "" if check.line is None else f";linenumber={check.line}"
    place = f"type={_LEVELS[check.status]};sourcepath={_replaced(check.file, named)}{line}"
    return f"##vso[task.logissue {place}]{_replaced(_message(check), data)}"


def _teamcity(check: CheckPart) -> str:
    escaped = {"'": "|'", "\n": "|n", "\r": "|r", "|": "||", "[": "|[", "]": "|]"}
    place = check.file if check.line is None else f"{check.file}:{check.line}"
    text = _replaced(f"{place}: {_message(check)}", escaped)
    status = {"error": "ERROR", "warning": "WARNING"}[_LEVELS[check.status]]
    return f"##teamcity[message text='{text}' status='{status}']"


SYSTEMS: Mapping[str, Callable[[CheckPart], str]] = {
    "github": _github,
    "azure": _azure,
    "teamcity": _teamcity,
}
"""How each system wants its lines."""
