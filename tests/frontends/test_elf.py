"""ELF files: read as pyelftools reads them."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from elftools.elf.elffile import ELFFile
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kept import CACHE

from kernelcast.frontends.elf import NO_BITS, ElfFile, section_names
from kernelcast.toolchain.nvrtc import compile_cuda

SOURCE = """
__device__ int counter = 7; __device__ float many[1000]; __constant__ int c[4];
__device__ __noinline__ float helper(float x) { atomicAdd(&counter, 1); return x * c[1]; }
__device__ float (*table[2])(float) = {helper, helper};
extern "C" __global__ void one(float* x, int n) {
    __shared__ float s[64]; s[threadIdx.x] = x[0]; __syncthreads();
    x[n] = helper(s[n]) + many[n] + table[n](x[1]);
}
extern "C" __global__ void two(float* x) { x[0] = helper(x[1]); }
"""


def cubin(architecture: str) -> bytes:
    return compile_cuda(SOURCE, name="k.cu", architecture=architecture, cache=CACHE).cubin


def test_a_program_needs_what_another_reader_says():
    data = Path(sys.executable).resolve().read_bytes()
    dynamic: Any = ELFFile(BytesIO(data)).get_section_by_name(".dynamic")
    names = [tag.needed for tag in dynamic.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]
    assert list(ElfFile(data).needed) == names
    assert any(name.startswith("libc.") for name in names)


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"])
def test_as_another_reader_reads_it(architecture):
    data = cubin(architecture)
    ours, theirs = ElfFile(data), ELFFile(BytesIO(data))
    assert ours.flags == theirs.header["e_flags"]
    assert ours.abi == theirs.header["e_ident"]["EI_ABIVERSION"]
    sections: dict[str, Any] = {s.name: s for s in theirs.iter_sections()}
    assert list(ours.sections) == list(sections)
    for name, section in sections.items():
        assert ours.size(name) == section["sh_size"]
        assert ours.sections[name].flags == section["sh_flags"]
        if ours.sections[name].type != NO_BITS:
            assert ours.content(name) == section.data()
        assert name.encode() + b"\0" in section_names(data)
    symbols = list(sections[".symtab"].iter_symbols())
    assert [ours.symbol_name(n) for n in range(len(ours.symbols))] == [s.name for s in symbols]
    assert [(s.value, s.size, s.info & 15) for s in ours.symbols] == [
        (s["st_value"], s["st_size"], _type(s)) for s in symbols
    ]
    for name in sections:
        rows = [
            (r["r_offset"], symbols[r["r_info_sym"]].name, r["r_addend"] if r.is_RELA() else 0)
            for prefix in (".rel", ".rela")
            for r in (
                sections[prefix + name].iter_relocations() if prefix + name in sections else ()
            )
        ]
        found = [(at, ours.symbol_name(s), addend) for at, s, addend in ours.relocations(name)]
        assert found == rows


def _type(symbol):
    """The number of a symbol's type."""
    names = {"STT_NOTYPE": 0, "STT_OBJECT": 1, "STT_FUNC": 2, "STT_SECTION": 3, "STT_LOPROC": 13}
    return names[symbol["st_info"]["type"]]


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_damage_raises_few_kinds_of_errors(data):
    damaged = bytearray(cubin("sm_90"))
    for _ in range(data.draw(st.integers(1, 4))):
        near = data.draw(st.integers(0, 63))
        damaged[data.draw(st.sampled_from([near, len(damaged) - 1 - near]))] ^= 1 << near % 8
    try:
        elf = ElfFile(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]))
        for name in elf.sections:
            list(elf.relocations(name))
        list(map(elf.symbol_name, elf.symbols))
    except (ValueError, LookupError):
        pass
    except Exception as error:
        assert type(error).__module__ == "struct", error
