"""What `completion` answers: the script that lets a shell complete names."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct


class CompletionDocument(Struct, frozen=True):
    """All that `completion --json` prints."""

    schema: Literal["kernelcast/completion/1"]
    shell: str
    script: str
