from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from tests.kept import CACHE

from kernelcast.frontends.elf import Elf, read_elf
from kernelcast.toolchain.nvrtc import compile_cuda

SOURCE = """
__constant__ float table[100];
__device__ int counter = 3;
__device__ int* where = &counter;
__device__ __noinline__ float twice(float x) { return 2 * x; }
__device__ float (*function)(float) = twice;
extern "C" __global__ void k(float* x) {
    __shared__ float shared[64];
    shared[threadIdx.x] = function(table[threadIdx.x]);
    __syncthreads();
    x[*where] = shared[63 - threadIdx.x];
}
"""
KINDS = {"STT_NOTYPE": 0, "STT_OBJECT": 1, "STT_FUNC": 2, "STT_SECTION": 3, "STT_LOPROC": 13}


def cubin(architecture: str) -> bytes:
    return compile_cuda(SOURCE, name="k.cu", architecture=architecture, cache=CACHE).cubin


@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_another_reader_sees_the_same(architecture: str) -> None:
    data = cubin(architecture)
    found = read_elf(data)
    other: Any = ELFFile(BytesIO(data))
    assert found.flags == other.header["e_flags"]
    assert found.abi_version == other.header["e_ident"]["EI_ABIVERSION"]
    assert [(s.name, s.flags, s.size_bytes, s.data) for s in found.sections.values()] == [
        (s.name, s["sh_flags"], s["sh_size"], s.data() if s["sh_type"] != "SHT_NOBITS" else b"")
        for s in other.iter_sections()
    ]
    assert [(s.name, s.kind, s.value, s.size_bytes) for s in found.symbols] == [
        (s.name, KINDS[s["st_info"]["type"]], s["st_value"], s["st_size"])
        for s in other.get_section_by_name(".symtab").iter_symbols()
    ]
    relocated = [name for name in found.sections if list(found.relocations(name))]
    assert relocated
    for name in relocated:
        assert [
            (offset, symbol.name, addend) for offset, symbol, addend in found.relocations(name)
        ] == list(relocations(other, found, name))


def relocations(elf: Any, names: Elf, section: str) -> Any:
    for prefix in (".rel", ".rela"):
        if table := elf.get_section_by_name(prefix + section):
            for r in table.iter_relocations():
                addend = r["r_addend"] if r.is_RELA() else 0
                yield r["r_offset"], names.symbols[r["r_info_sym"]].name, addend


@pytest.mark.parametrize("at", [0, 4, 5])
def test_other_files_are_refused(at: int) -> None:
    data = bytearray(cubin("sm_90"))
    data[at] += 1
    with pytest.raises(ValueError, match="64 bits"):
        read_elf(bytes(data))
