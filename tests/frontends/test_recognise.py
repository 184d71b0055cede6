from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelcast.errors import InputError
from kernelcast.frontends.recognise import FileKind, recognise

ELF = b"\x7fELF\x02\x01\x01" + bytes(9)


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"__global__ void k() {}", FileKind.CUDA),
        (b'#include "kernel.cuh"\n', FileKind.CUDA),
        (b"/* kernelcast\n[[launch]]\ngrid = 1\n*/\n__global__ void k() {}", FileKind.CUDA),
        (b".version 8.0\n.target sm_90\n", FileKind.PTX),
        (b"//\n// by NVVM\n/* a */ /* b */\n\n.version 8.0\n", FileKind.PTX),
        (b"/* kernelcast\n[[launch]]\ngrid = 1\n*/\n.version 8.0\n", FileKind.PTX),
        (b".target sm_90\n.version 8.0\n", FileKind.PTX),
        (b'source = "a.cu"\n[[ launch ]]\ngrid = 1\n', FileKind.WORKLOAD),
        (ELF + b"\x02\x00" + (190).to_bytes(2, "little"), FileKind.CUBIN),
    ],
)
def test_content_decides(data: bytes, kind: FileKind) -> None:
    assert recognise(data, name="file.xyz") is kind


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b"", "empty"),
        (b" \n\t", "empty"),
        (b"int main() { return 0; }", "no kernel"),
        (b"\x89PNG\0\0", "binary file of unknown format"),
        (b"!<arch>\n/ 0\0", "an archive of object files"),
        (ELF + b"\x02\x00" + (62).to_bytes(2, "little"), "ELF file for another machine"),
        (ELF + b"\x02\x00" + (62).to_bytes(2, "little") + b".nv_fatbin", "host program"),
        (b"\x7fELF", "ELF file for another machine"),
        (b"\x50\xed\x55\xba\x01\x00", "fat binary"),
    ],
)
def test_what_is_no_kernel_is_named(data: bytes, what: str) -> None:
    with pytest.raises(InputError) as caught:
        recognise(data, name="file.xyz")
    assert what in caught.value.what
    assert caught.value.where == "file.xyz"
    assert caught.value.hint


@given(st.binary(max_size=200))
def test_any_content_is_recognised_or_an_input_error(data: bytes) -> None:
    try:
        assert recognise(data, name="x") in FileKind
    except InputError as error:
        assert "\n" not in str(error)


def test_many_comments_do_not_multiply() -> None:
    """A pattern that may split comments in several ways would not come back from this."""
    data = b"/* a */ // b\n" * 5000 + b"__global__ void k() {}"
    assert recognise(data, name="x") is FileKind.CUDA
