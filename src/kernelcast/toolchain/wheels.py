"""Where pip put NVIDIA's compilers and headers: found by path, never imported."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path


def site_packages() -> tuple[Path, ...]:
    """Directories in which installed packages may lie, in the order Python searches them."""
    installed = [sysconfig.get_path("purelib"), sysconfig.get_path("platlib")]
    candidates = dict.fromkeys(Path(entry) for entry in [*sys.path, *installed] if entry)
    return tuple(path for path in candidates if (path / "nvidia").is_dir())


def find_in_wheels(*patterns: str) -> tuple[Path, ...]:
    """Files and directories below the `nvidia` folders that match one of the glob patterns, each
    once."""
    found = (
        path
        for root in site_packages()
        for pattern in patterns
        for path in sorted((root / "nvidia").glob(pattern))
    )
    return tuple(dict.fromkeys(found))


def find_in_packages(pattern: str) -> tuple[Path, ...]:
    """Files of other packages than NVIDIA's that match a glob pattern below `site-packages`."""
    return tuple(path for root in site_packages() for path in sorted(root.glob(pattern)))


def wheel_versions() -> tuple[str, ...]:
    """Installed NVIDIA distributions with their versions, as their metadata folders are named."""
    return tuple(
        sorted(path.name for root in site_packages() for path in root.glob("nvidia*.dist-info"))
    )
