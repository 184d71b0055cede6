"""How launches are called in reports."""

from __future__ import annotations

from dataclasses import replace

from kernelcast.models.terms.base import Case


def launch_title(case: Case) -> str:
    """The launch in CUDA's notation: `saxpy<<<262144, 256>>>`."""
    return str(replace(case.launch, kernel=case.kernel.label or case.kernel.name))
