"""How the source of a program is compiled that is run."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kernelcast.cli.options import Output

if TYPE_CHECKING:
    from kernelcast.toolchain.nvcc import ProgramOptions


def with_folders_of_headers(
    program: str, options: ProgramOptions, output: Output
) -> ProgramOptions:
    """The options with the folders that a source needs and that lie near it, each remarked on; as
    they are for what is no source."""
    from kernelcast.devices.programs import is_source
    from kernelcast.frontends.program_sources import with_headers_nearby

    if not is_source(program):
        return options
    found = with_headers_nearby(Path(program), options)
    for folder in found.include_dirs[len(options.include_dirs) :]:
        shortest = min(str(folder), os.path.relpath(folder), key=len)
        output.remark(f"headers of {program} were found nearby: -I {shortest}")
    return found
