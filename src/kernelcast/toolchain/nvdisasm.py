"""Cubins to listings with nvdisasm, NVIDIA's disassembler.

It needs neither a GPU nor a driver, and takes about 0.4 s for a small cubin. The one of CUDA 13,
from its PyPI wheel, reads Turing and later. Volta's instructions are Turing's, with the same
encodings: its code is read as if it were that.
"""

from __future__ import annotations

import re
import shutil
import struct
import subprocess
import tempfile
import zlib
from collections.abc import Sequence
from functools import cache as once
from pathlib import Path

from kernelcast.errors import InputError, ToolError, UnsupportedError
from kernelcast.toolchain.cache import Cache, content_key
from kernelcast.toolchain.wheels import find_in_packages, find_in_wheels

_NEWEST = "cu*/bin/nvdisasm"
_OLDER = "triton/backends/nvidia/bin/nvdisasm"
_INSTALL = "install it with: pip install nvidia-cuda-nvdisasm"
_INSTALL_OLDER = "put one that knows it on the path: CUDA Toolkits bring nvdisasm"
_CODE_WITH_ENCODINGS = ("-c", "-hex")
_LINE_INFORMATION = ("-gi", "-gp")
_TIMEOUT_S = 300.0

_REFUSED = re.compile(r'(?:CUDA )?architecture|is not supported|"?SM\d+', re.IGNORECASE)

_ELF = b"\x7fELF\x02"
_FLAGS_AT = 48
_ARCHITECTURES = 0x00FF_00FF
"""In the flags of a cubin of CUDA 12, that of its code and that of the PTX it was made of."""
_VOLTA, _TURING = 70, 75


def disassemble(
    cubin: bytes,
    cache: Cache | None = None,
    *,
    name: str = "",
    functions: Sequence[int] = (),
    timeout_s: float = _TIMEOUT_S,
) -> str:
    """The listing of a cubin, with encodings, and with source and PTX lines where it has them.

    `name` says in errors what was disassembled. `functions` are the numbers of symbols: where some
    are given, their code alone is listed. Raises UnsupportedError for an architecture that
    every installed nvdisasm refuses, InputError for a damaged cubin, ToolError where nvdisasm is
    missing, fails or takes longer than `timeout_s`.
    """
    turing = _as_turing(cubin)
    if turing is not None:
        listing = disassemble(turing, cache, name=name, functions=functions, timeout_s=timeout_s)
        return listing.replace(f"EF_CUDA_SM{_TURING}", f"EF_CUDA_SM{_VOLTA}")
    chosen = ("-fun", ",".join(map(str, functions))) if functions else ()
    code = (*_CODE_WITH_ENCODINGS, *chosen)
    keys = {
        executable: content_key(_identity(executable), *code, *_LINE_INFORMATION, cubin)
        for executable in nvdisasm_paths()
    }
    for key in keys.values():
        if cache is not None and (stored := cache.get("listing", key)) is not None:
            return zlib.decompress(stored).decode("utf-8", "replace")
    refusal = ""
    for executable, key in keys.items():
        made, complaint = _listed(executable, code, cubin, timeout_s)
        if not complaint:
            if cache is not None:
                cache.put("listing", key, zlib.compress(made, level=1))
            return made.decode("utf-8", "replace")
        if not _REFUSED.search(complaint):
            raise InputError(f"nvdisasm cannot read it: {complaint}", where=name)
        refusal = refusal or complaint
    raise UnsupportedError(f"nvdisasm refuses it: {refusal}", where=name, hint=_INSTALL_OLDER)


def _as_turing(cubin: bytes) -> bytes | None:
    """A cubin for Volta that says it is for Turing, None where it is for neither."""
    if not cubin.startswith(_ELF) or len(cubin) < _FLAGS_AT + 4:
        return None
    (flags,) = struct.unpack_from("<I", cubin, _FLAGS_AT)
    if flags & _ARCHITECTURES != _VOLTA << 16 | _VOLTA:
        return None
    relabelled = flags & ~_ARCHITECTURES | _TURING << 16 | _TURING
    return cubin[:_FLAGS_AT] + struct.pack("<I", relabelled) + cubin[_FLAGS_AT + 4 :]


def _listed(
    executable: Path, code: tuple[str, ...], cubin: bytes, timeout_s: float
) -> tuple[bytes, str]:
    """The listing, and what nvdisasm complains about; one of them is empty."""
    with tempfile.TemporaryDirectory(prefix="kernelcast-") as directory:
        file = Path(directory) / "input.cubin"
        file.write_bytes(cubin)
        listing, complaint = _run(executable, (*code, *_LINE_INFORMATION), file, timeout_s)
        if complaint and not _REFUSED.search(complaint):
            # Damaged line information must not hide the code.
            listing, complaint = _run(executable, code, file, timeout_s)
    return listing, complaint


def nvdisasm_paths() -> tuple[Path, ...]:
    """The installed nvdisasm programs, the newest first; ToolError where there is none."""
    on_path = shutil.which("nvdisasm")
    found = (
        *reversed(find_in_wheels(_NEWEST)),
        *find_in_packages(_OLDER),
        *((Path(on_path),) if on_path else ()),
    )
    if not found:
        raise ToolError("nvdisasm, which reads machine code, is not installed", hint=_INSTALL)
    return found


@once
def _identity(executable: Path) -> str:
    """Tells one build of nvdisasm from another."""
    status = executable.stat()
    return f"{executable.name} {status.st_size} {status.st_mtime_ns}"


def _run(
    executable: Path, options: tuple[str, ...], file: Path, timeout_s: float
) -> tuple[bytes, str]:
    """The listing, and what nvdisasm complains about; one of them is empty."""
    try:
        done = subprocess.run(
            [executable, *options, file], capture_output=True, timeout=timeout_s, check=False
        )
    except subprocess.TimeoutExpired:
        raise ToolError(
            f"nvdisasm took longer than {timeout_s:g} s", hint="choose a smaller binary"
        ) from None
    except OSError as error:
        raise ToolError(
            f"cannot run nvdisasm: {error.strerror}", where=str(executable), hint=_INSTALL
        ) from error
    if done.returncode == 0:
        return done.stdout, ""
    text = done.stderr.decode("utf-8", "replace").replace(str(file), "the cubin")
    first = next((line for line in text.splitlines() if line.strip()), "")
    complaint = first.partition(":")[2].strip() or first.strip()
    return b"", complaint or f"it ended with status {done.returncode}"
