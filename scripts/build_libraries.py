"""Puts the libraries of the virtual GPU into a wheel, compiled by Zig from its own wheel.

Enabled with HATCH_BUILD_HOOK_ENABLE_CUSTOM=true: a wheel without them makes them on first use.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SOURCES = Path("src/kernelcast/devices/shim")


class LibrariesHook(BuildHookInterface[Any]):
    """Compiles them before the wheel is put together."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Make the libraries, unless the wheel only points at a checkout."""
        if version == "editable":
            return
        recipe = Path(self.root) / _SOURCES / "build.py"
        spec = importlib.util.spec_from_file_location("build", recipe)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        folder = Path(self.directory) / "libraries"
        folder.mkdir(parents=True, exist_ok=True)
        module.build_libraries(folder, module.ZIG)
        for name in module.LIBRARIES:
            place = f"kernelcast/devices/shim/lib/{name}"
            build_data["force_include"][str(folder / name)] = place
        build_data["pure_python"] = False
        build_data["tag"] = "py3-none-manylinux2014_x86_64"
