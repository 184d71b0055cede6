"""Sources that are compiled with their host code, into programs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from kernelcast.errors import InputError
from kernelcast.frontends.source.device_source import view_source
from kernelcast.frontends.source.header_folders import HeaderFolders, folders_nearby
from kernelcast.toolchain.nvcc import ProgramOptions, nvcc_version, read_sources
from kernelcast.toolchain.nvrtc import header_folders

_ARCHITECTURE = "sm_90"
"""Headers of host code are the same for all."""


def with_headers_nearby(source: Path, options: ProgramOptions) -> ProgramOptions:
    """The options with the folders near a source in which headers lie that it includes and that no
    compiler would find. ToolError without an nvcc; a source that is not read gets none."""
    version = nvcc_version()
    folders = HeaderFolders(options.include_dirs, header_folders(version[0]))
    try:
        text = read_sources([source])[source].decode("utf-8", "surrogateescape")
        view = view_source(text, str(source), folders, _ARCHITECTURE, version, options.defines)
    except InputError:
        return options
    return replace(options, include_dirs=(*options.include_dirs, *folders_nearby(view, folders)))
