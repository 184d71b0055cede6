"""Fat binaries: every member found, every damage an error of ours, nothing read past the end."""

from __future__ import annotations

import importlib.util
import json
import mmap
from contextlib import suppress
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.frontends.fat_binaries import (
    ELF,
    LTO,
    LZ4,
    PTX,
    ZSTD,
    Part,
    fat_binary,
    host_program,
    lz4_block,
)

from kernelcast.cli.main import main
from kernelcast.errors import InputError, KernelcastError, NotFoundError, ToolError
from kernelcast.frontends import containers, fatbin, sass
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.fatbin import (
    Compression,
    is_container,
    open_fat_binary,
    read_fat_binary,
)
from kernelcast.frontends.loading import load_bytes
from kernelcast.frontends.lz4 import CompressedDataError, decompress_block
from kernelcast.frontends.sass import container_kernels, machine_code
from kernelcast.reporting.documents.base import as_json
from kernelcast.reporting.documents.kernels import kernels_document, library_json
from kernelcast.toolchain.nvrtc import compile_cuda

SOURCE = """
extern "C" __global__ void first(float* y) { y[threadIdx.x] *= 2.0f; }
template <int N> __global__ void second(float* y) { __shared__ float s[N]; s[threadIdx.x] = *y;
  __syncthreads(); y[threadIdx.x] = s[N - 1 - threadIdx.x]; }
"""


@pytest.fixture(scope="module")
def cubins() -> dict[int, bytes]:
    return {
        number: compile_cuda(
            SOURCE, name="k.cu", architecture=f"sm_{number}", name_expressions=["second<64>"]
        ).cubin
        for number in (80, 90)
    }


@pytest.fixture(scope="module")
def whole(cubins) -> bytes:
    """Code for two chips, one of them compressed, and PTX for a third."""
    return fat_binary(
        Part(cubins[80], 80),
        Part(lz4_block(cubins[90]), 90, flags=LZ4, size=len(cubins[90])),
        Part(b".version 8.0\n", 120, kind=PTX),
    )


@pytest.fixture(scope="module")
def library(whole, tmp_path_factory):
    path = tmp_path_factory.mktemp("library") / "libkernels.so"
    path.write_bytes(host_program({".text": bytes(100), ".nv_fatbin": whole + bytes(24) + whole}))
    return path


def test_members_are_found_and_decompressed(whole, cubins):
    found = read_fat_binary(whole, name="f")
    assert found.architectures == ("sm_80", "sm_90")
    assert [m.compression for m in found.members] == [
        Compression.NONE, Compression.LZ4, Compression.NONE,
    ]  # fmt: skip
    data = {m.architecture: d for m, d in found.cubins()}
    assert data["sm_90"] == cubins[90]
    assert data["sm_80"].startswith(cubins[80])


def test_every_fat_binary_of_a_host_file_counts(library):
    with open_fat_binary(library) as found:
        assert len(found.members) == 6
        assert len(list(found.cubins("sm_90"))) == 2


def test_relocatable_code_counts_where_nothing_is_linked(whole):
    both = host_program({".nv_fatbin": whole, "__nv_relfatbin": whole})
    assert len(read_fat_binary(both, name="f").members) == 3
    relocatable = host_program({"__nv_relfatbin": whole})
    assert len(read_fat_binary(relocatable, name="f").members) == 3


@pytest.mark.parametrize(
    ("capability", "architecture"), [((8, 0), "sm_80"), ((8, 9), "sm_80"), ((9, 0), "sm_90")]
)
def test_a_chip_runs_code_of_its_generation(whole, capability, architecture):
    assert read_fat_binary(whole, name="f").architecture_for(capability) == architecture


@pytest.mark.parametrize("capability", [(7, 5), (10, 0), (12, 0)])
def test_code_for_other_chips_only_says_for_which(whole, capability):
    with pytest.raises(InputError, match="there is code for sm_80, sm_90"):
        read_fat_binary(whole, name="f").architecture_for(capability)


def test_ptx_alone_is_no_machine_code():
    found = read_fat_binary(fat_binary(Part(b".version 8.0", 90, kind=PTX)), name="f")
    with pytest.raises(InputError, match="PTX only"):
        found.architecture_for((9, 0))


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """A program with PTX alone: two kernels for one chip, and one of them for a newer one."""
    ptx = {
        (name, number): compile_cuda(source, name="k.cu", architecture=f"sm_{number}").ptx.encode()
        for name, source in {
            "scale": "__global__ void scale(float* y) { y[threadIdx.x] *= 2.0f; }",
            "shift": "__global__ void shift(float* y, int n) { y[threadIdx.x] += n; }",
        }.items()
        for number in (80, 90)
    }
    whole = b"".join(
        fat_binary(Part(ptx[each], each[1], kind=PTX))
        for each in (("scale", 80), ("shift", 80), ("shift", 90))
    )
    path = tmp_path_factory.mktemp("texts") / "program"
    path.write_bytes(host_program({".nv_fatbin": whole}))
    return path


def test_kernels_of_ptx_alone_are_listed_as_its_chip_would_have_them(texts):
    found = [(k.label, k.target, k.resources.registers) for k in container_kernels(texts)]
    assert [each[:2] for each in found] == [
        ("shift", "sm_90"), ("scale", "sm_80"), ("shift", "sm_80"),
    ]  # fmt: skip
    assert all(registers for *_, registers in found)
    newest = {k.label: k.target for k in container_kernels(texts, (9, 0))}
    assert newest == {"shift": "sm_90", "scale": "sm_80"}
    assert {k.target for k in container_kernels(texts, (8, 6))} == {"sm_80"}
    assert [k.label for k in container_kernels(texts, pattern="sca*")] == ["scale"]
    with pytest.raises(NotFoundError, match="did you mean scale"):
        list(container_kernels(texts, pattern="scael"))
    with pytest.raises(InputError, match="PTX only, for sm_80, sm_90"):
        list(container_kernels(texts, (7, 5)))


def test_a_kernel_of_ptx_alone_is_found_whichever_text_holds_it(texts):
    assert b"scale" in containers.embedded_code(texts, (9, 0), "scale")
    assert b".target sm_90" in containers.embedded_code(texts, (9, 0), "shift")
    assert b".target sm_80" in containers.embedded_code(texts, (8, 9), "shift")
    with pytest.raises(InputError, match="2 kernels to choose from"):
        containers.embedded_code(texts, (9, 0), "")
    (code,) = machine_code(texts, compute_capability=(9, 0), kernel="scale")
    assert (code.label, code.function.target) == ("scale", "sm_90")


def test_code_for_the_linker_alone_says_what_to_do(tmp_path, cubins, capsys):
    intermediate = Part(b"bitcode" + bytes(9), 80, kind=LTO)
    path = tmp_path / "kernels.o"
    path.write_bytes(host_program({"__nv_relfatbin": fat_binary(intermediate)}))
    assert main(["kernels", str(path)]) == 2
    message = capsys.readouterr().err
    assert "link-time optimization" in message and "nvcc -dlto -arch=sm_80" in message
    assert message.count("\n") == 1
    # Beside machine code it is nothing to speak of.
    both = read_fat_binary(fat_binary(intermediate, Part(cubins[90], 90)), name="f")
    assert both.architectures == ("sm_90",)


def test_kernels_are_listed_with_their_resources(library, cubins):
    kernels = list(container_kernels(library))
    assert sorted((k.label, k.target) for k in kernels[:4]) == [
        ("first", "sm_80"), ("first", "sm_90"), ("second<64>", "sm_80"), ("second<64>", "sm_90"),
    ]  # fmt: skip
    expected = read_cubin(cubins[90], name="k").kernels["first"].resources
    (first, *_) = [k for k in kernels if (k.label, k.target) == ("first", "sm_90")]
    assert first.resources.registers == expected.registers
    assert {k.target for k in container_kernels(library, (9, 0))} == {"sm_90"}


def test_a_librarys_json_is_that_of_its_document(library, capfdbinary):
    document = kernels_document(container_kernels(library), is_library=True)
    expected = json.dumps(as_json(document), indent=2) + "\n"
    assert b"".join(library_json(container_kernels(library))).decode() == expected
    assert json.loads(b"".join(library_json(())))["kernels"] == []
    assert main(["kernels", str(library), "--json"]) == 0
    assert capfdbinary.readouterr().out.decode() == expected


def test_one_kernel_of_a_library_is_disassembled(library):
    (code,) = machine_code(library, compute_capability=(9, 0), kernel="second<64>")
    assert code.label == "second<64>"
    assert code.function.target == "sm_90"
    assert code.resources is not None and code.resources.static_shared_bytes == 256
    with pytest.raises(InputError, match="2 kernels to choose from"):
        machine_code(library, compute_capability=(9, 0))
    with pytest.raises(NotFoundError):
        machine_code(library, compute_capability=(9, 0), kernel="third")


def counted(monkeypatch, owner, name):
    """Calls of a function, which goes on doing what it did."""
    calls = []
    real = getattr(owner, name)

    def call(*args, **options):
        calls.append(args)
        return real(*args, **options)

    monkeypatch.setattr(owner, name, call)
    return calls


def many_files(cubins, count):
    """A library with the same two kernels, and `count` others, each in a cubin of its own."""
    other = 'extern "C" __global__ void other{0}(int* x) {{ *x = {0}; }}'
    parts = [
        Part(lz4_block(compiled), number, flags=LZ4, size=len(compiled))
        for number in (80, 90)
        for compiled in (
            cubins[number],
            *(
                compile_cuda(other.format(n), name="k.cu", architecture=f"sm_{number}").cubin
                for n in range(count)
            ),
        )
    ]
    return host_program({".nv_fatbin": b"".join(map(fat_binary, parts))})


@pytest.fixture(scope="module")
def many(cubins, tmp_path_factory):
    path = tmp_path_factory.mktemp("many") / "libmany.so"
    path.write_bytes(many_files(cubins, 5))
    return path


def test_one_kernel_decompresses_its_architecture_and_reads_its_cubin(many, monkeypatch):
    decompressed = counted(monkeypatch, fatbin, "decompress_block")
    read = counted(monkeypatch, containers, "kernel_symbols")
    data = containers.embedded_code(many, (9, 0), "second<64>")
    assert "second<64>" in {k.label for k in load_bytes_kernels(data)}
    # The six cubins of the chip, and once more the one that is loaded.
    assert (len(decompressed), len(read)) == (7, 6)


def load_bytes_kernels(data):
    module = load_bytes(data, name="k.cubin", compute_capability=(9, 0))
    return [module.kernel(name) for name in module.kernel_names]


def test_a_pattern_reads_the_cubins_that_hold_it(many, monkeypatch):
    read = counted(monkeypatch, sass, "read_cubin")
    found = [(k.label, k.target) for k in container_kernels(many, pattern="*ther3")]
    assert found == [("other3", "sm_80"), ("other3", "sm_90")]
    assert len(read) == 2
    assert len(list(container_kernels(many, (9, 0), pattern="other"))) == 5
    assert len(list(container_kernels(many, (9, 0), pattern="second<64>"))) == 1
    assert len(list(container_kernels(many, (9, 0), pattern="_Z6secondILi64EEvPf"))) == 1


def test_a_list_tells_how_far_it_is(many):
    shares: list[float] = []
    assert len(list(container_kernels(many, progress=shares.append))) == 14
    assert shares == sorted(shares) and shares[0] == 0 and len(shares) == 12


@pytest.mark.parametrize("pattern", ["othr3", "*othr*", "zzz"])
def test_a_name_that_no_kernel_has(many, pattern):
    with pytest.raises(NotFoundError) as caught:
        list(container_kernels(many, pattern=pattern))
    assert "\n" not in str(caught.value)
    assert pattern == "zzz" or "did you mean other" in str(caught.value)


def test_memory_of_the_file_is_let_go(many, monkeypatch):
    """Pages that were read do not stay: a library is larger than what a list may take."""
    with open_fat_binary(many) as found:
        advised = []

        class Buffer(mmap.mmap):
            def madvise(self, *args):
                advised.append(args)
                super().madvise(*args)

        with many.open("rb") as file, Buffer(file.fileno(), 0, access=mmap.ACCESS_READ) as buffer:
            copy = replace(found, buffer=buffer)
            assert [d for _, d in copy.cubins()] == [d for _, d in found.cubins()]
        assert len(advised) == len(found.members)
        assert all(start % mmap.PAGESIZE == 0 for _, start, _ in advised)


def test_what_is_a_container(tmp_path, library, cubins, whole):
    for name, data, answer in [
        ("cubin", cubins[90], False),
        ("fat", whole, True),
        ("text", b"__global__", False),
        ("empty", b"", False),
    ]:
        (tmp_path / name).write_bytes(data)
        assert is_container(tmp_path / name) is answer
    assert is_container(library)
    assert not is_container(tmp_path / "missing")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (host_program({".text": b"x"}), "without GPU code"),
        (b"\x7fELF\x01\x01" + bytes(60), "not a 64-bit"),
        (host_program({".nv_fatbin": bytes(64)}), "without GPU code"),
        (host_program({".nv_fatbin": fat_binary()})[:-40], "cut short"),
        (fat_binary(Part(b"x" * 64, 90))[:-8], "ends too early"),
        (fat_binary(Part(b"x" * 64, 90))[:12], "ends in a header"),
        (fat_binary(Part(b"x" * 64, 90, flags=ZSTD, size=1 << 40)), "1099511627776 bytes"),
    ],
)
def test_damage_is_named(tmp_path, data, what):
    path = tmp_path / "damaged"
    path.write_bytes(data)
    with pytest.raises(InputError, match=what), open_fat_binary(path):
        pass


def test_an_empty_file_is_an_input_error(tmp_path):
    path = tmp_path / "empty"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="cannot read"), open_fat_binary(path):
        pass


def zstandard_frame(content: bytes) -> bytes:
    """One frame with its content's size and a raw block (RFC 8878, section 3.1.1)."""
    head = b"\x28\xb5\x2f\xfd" + bytes([0b1010_0000]) + len(content).to_bytes(4, "little")
    return head + (len(content) << 3 | 1).to_bytes(3, "little") + content


def test_zstandard_without_a_decompressor_says_what_to_install(monkeypatch):
    monkeypatch.setattr(fatbin, "_ZSTD_MODULES", ("no_such_module",))
    frame = zstandard_frame(b"cubin of 16 byte")
    found = read_fat_binary(fat_binary(Part(frame, 90, ELF, ZSTD, 16)), name="f")
    with pytest.raises(ToolError, match=r"kernelcast\[zstd\]"):
        list(found.cubins())


@pytest.mark.skipif(
    not any(importlib.util.find_spec(m.partition(".")[0]) for m in fatbin._ZSTD_MODULES),
    reason="no Zstandard decompressor is installed",
)
def test_zstandard_is_decompressed():
    frame = zstandard_frame(b"cubin of 16 byte")
    found = read_fat_binary(fat_binary(Part(frame, 90, ELF, ZSTD, 16)), name="f")
    assert [data for _, data in found.cubins()] == [b"cubin of 16 byte"]


def test_zstandard_of_another_size_is_damage():
    frame = zstandard_frame(b"cubin of 16 byte")
    found = read_fat_binary(fat_binary(Part(frame, 90, ELF, ZSTD, 17)), name="f")
    with pytest.raises(InputError, match="not of the size announced"):
        list(found.cubins())


@pytest.mark.parametrize(
    ("block", "data"),
    [
        (b"\x50hello", b"hello"),
        # A match that overlaps what it makes; the last twelve bytes of a block are no match.
        (b"\x1fa\x01\x00\x05\xc0" + b"e" * 12, b"a" * 25 + b"e" * 12),
        (b"\x40abcd\x02\x00\xc0" + b"e" * 12, b"abcdcdcd" + b"e" * 12),
        (b"\xf0\x01" + b"x" * 16, b"x" * 16),
    ],
)
def test_lz4_blocks_made_by_hand(block, data):
    assert decompress_block(block, len(data)) == data


@given(
    st.binary(min_size=1, max_size=40).flatmap(
        lambda b: st.builds(lambda n: b * n, st.integers(1, 30))
    )
)
def test_lz4_gives_back_what_was_compressed(data):
    assert decompress_block(lz4_block(data), len(data)) == data


@given(st.binary(max_size=60), st.integers(0, 100))
def test_any_lz4_block_gives_the_size_asked_for_or_an_error(block, size):
    with suppress(CompressedDataError):
        assert len(decompress_block(block, size)) == size


def read_all(data: bytes) -> None:
    found = read_fat_binary(data, name="f")
    for _, cubin in found.cubins():
        read_cubin(cubin, name="f")


FUZZ = settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@FUZZ
@given(data=st.data())
def test_damaged_files_only_raise_errors_of_ours(whole, cubins, data):
    kinds = [whole, host_program({".nv_fatbin": whole}), fat_binary(Part(cubins[80], 80))]
    sound = data.draw(st.sampled_from(kinds))
    damaged = bytearray(sound[: data.draw(st.integers(0, len(sound)))])
    for _ in range(data.draw(st.integers(0, 6))):
        if damaged:
            # Headers lie at the start and, in a host file, at the end.
            near = data.draw(st.integers(0, min(200, len(damaged) - 1)))
            place = data.draw(st.sampled_from([near, len(damaged) - 1 - near]))
            damaged[place] ^= 1 << data.draw(st.integers(0, 7))
    try:
        read_all(bytes(damaged))
    except KernelcastError as error:
        assert "\n" not in str(error)


@FUZZ
@given(data=st.data())
def test_damaged_cubins_only_raise_errors_of_ours(cubins, data):
    damaged = bytearray(cubins[90])
    for _ in range(data.draw(st.integers(1, 8))):
        damaged[data.draw(st.integers(0, len(damaged) - 1))] ^= 1 << data.draw(st.integers(0, 7))
    try:
        read_cubin(bytes(damaged[: data.draw(st.integers(0, len(damaged)))]), name="f")
    except KernelcastError as error:
        assert "\n" not in str(error)
