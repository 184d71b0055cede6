"""What `doctor` answers: what this installation can and cannot do."""

from __future__ import annotations

from msgspec import Struct


class InstalledPart(Struct, frozen=True):
    """One part of the installation; `advice` is empty where it works."""

    part: str
    works: bool
    detail: str
    advice: str = ""


class DoctorDocument(Struct, frozen=True):
    """All that `doctor --json` prints."""

    findings: list[InstalledPart]
