"""A gate as SARIF 2.1.0, as code scanning reads it: a result for each bound that does not hold.

OASIS: Static Analysis Results Interchange Format (SARIF) Version 2.1.0, 27 March 2020.
"""

from __future__ import annotations

import json
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from kernelcast.reporting.documents.gate import CheckPart, GateDocument

_LEVELS = {"broken": "error", "cannot tell": "warning"}
_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json"


def sarif(document: GateDocument) -> bytes:
    """The document as a file of SARIF."""
    rules = list(dict.fromkeys(check.rule for check in document.checks))
    results = [_result(c, rules.index(c.rule)) for c in document.checks if c.status in _LEVELS]
    driver = {
        "name": "kernelcast",
        "semanticVersion": document.kernelcast,
        "rules": [{"id": rule, "shortDescription": {"text": rule}} for rule in rules],
    }
    log = {
        "$schema": _SCHEMA,
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": results}],
    }
    return json.dumps(log, indent=2).encode() + b"\n"


def _result(check: CheckPart, rule: int) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": {"uri": _uri(check.file)}}
    if check.line is not None:
        place["region"] = {"startLine": check.line}
    message = f"{check.title} on {check.gpu}: {check.message}"
    return {
        "ruleId": check.rule,
        "ruleIndex": rule,
        "level": _LEVELS[check.status],
        "message": {"text": "\n".join([message, *check.causes])},
        "locations": [{"physicalLocation": place}],
    }


def _uri(file: str) -> str:
    """A path as a URI: relative paths are relative ones."""
    path = PurePath(file)
    return path.as_uri() if path.is_absolute() else quote(path.as_posix())
