"""A gate as a Code Quality report, which GitLab shows beside the lines of a merge request.

GitLab: Code Quality, section "Code Quality report format": a list of remarks, a subset of the Code
Climate Engine Specification; every remark has a fingerprint, by which it is known again.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from kernelcast.reporting.documents.gate import CheckPart, GateDocument

_SEVERITIES = {"broken": "major", "cannot tell": "minor"}
_FIRST_LINE = 1
"""Every remark has a line; this one where the code does not say it."""


def code_quality(document: GateDocument) -> bytes:
    """The document as a file of remarks: one for each bound that does not hold."""
    remarks = [_remark(check) for check in document.checks if check.status in _SEVERITIES]
    return json.dumps(remarks, indent=2).encode() + b"\n"


def _remark(check: CheckPart) -> dict[str, Any]:
    message = f"{check.title} on {check.gpu}: {check.message}"
    return {
        "description": "\n".join([message, *check.causes]),
        "check_name": f"kernelcast: {check.rule}",
        "fingerprint": _fingerprint(check),
        "severity": _SEVERITIES[check.status],
        "location": {"path": check.file, "lines": {"begin": check.line or _FIRST_LINE}},
    }


def _fingerprint(check: CheckPart) -> str:
    """Of what is checked, not of what came out: figures and lines change with every commit."""
    told = (check.rule, check.file, check.title, check.gpu, check.model_label)
    return hashlib.sha256("\0".join(told).encode()).hexdigest()
