"""Programs that are started for what they print."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence


def captured(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    timeout: float | None = None,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """What a program printed and how it ended; parameters and errors are those of `subprocess.run`.

    It is read as UTF-8 whatever the locale is: libraries of compilers set that of this process to
    one that knows ASCII alone, and other compilers quote with what ASCII lacks.
    """
    return subprocess.run(
        command,
        env=env,
        timeout=timeout,
        check=check,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
    )
