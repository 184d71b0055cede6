from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.errors import (
    CompileError,
    InputError,
    NotFoundError,
    ParseError,
    UnsupportedError,
)
from kernelcast.frontends import FileKind, kernel_names, load
from kernelcast.frontends.cubin import read_cubin
from kernelcast.frontends.loading import choose_kernel
from kernelcast.toolchain.nvrtc import CompileOptions, compile_cuda

SOURCE = """
namespace lib {
template <typename T, int N>
__global__ void scale(int n, T* x) {
    int i = blockIdx.x * N + threadIdx.x;
    if (i < n) x[i] *= N;
}
}
__global__ void plain(float a, const double* input) { if (a > 1) ((double*)input)[0] = a; }
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.txt"
    path.write_text(SOURCE)
    return path


def test_cuda_gives_code_resources_and_the_sources_names(source: Path) -> None:
    module = load(source, compute_capability=(8, 0), kernels=["lib::scale<float, 32>"])
    assert module.kind is FileKind.CUDA
    assert module.architecture == "sm_80"
    assert module.notes == ()
    assert set(module.kernel_names) == {"lib::scale<float, 32>", "plain"}
    kernel = module.kernel("lib::scale<float,32>")
    assert kernel.isa == "ptx"
    assert kernel.target == "sm_80"
    assert kernel.source == str(source)
    assert kernel.label == "lib::scale<float, 32>"
    assert kernel.instructions
    assert kernel.resources.registers
    assert kernel.resources.source.startswith("cubin by NVRTC")
    assert [(p.label, p.pointee) for p in kernel.parameters] == [("n", ""), ("x", "f32")]
    assert {i.location.line for i in kernel.instructions if i.location} >= {5, 6}


def test_a_spilling_kernel_says_so(tmp_path: Path) -> None:
    path = tmp_path / "spill.cu"
    path.write_text("""
    extern "C" __global__ void spill(const float* x, float* y) {
        float v[200];
        #pragma unroll
        for (int i = 0; i < 200; i++) v[i] = x[i * 256 + threadIdx.x];
        __syncthreads();
        #pragma unroll
        for (int i = 0; i < 200; i++) y[(199 - i) * 256 + threadIdx.x] = v[i] * v[199 - i];
    }""")
    few = load(path, options=CompileOptions(extra=("--maxrregcount=32",))).kernel().resources
    many = load(path).kernel().resources
    assert few.registers is not None
    assert few.registers <= 32
    assert few.spilled_bytes > 0
    assert many.spilled_bytes == 0


def test_an_old_chip_gets_the_oldest_target_and_a_note(source: Path) -> None:
    module = load(source, compute_capability=(1, 3))
    assert "not for sm_13" in module.notes[0]
    assert module.kernel("plain").target == module.architecture


def test_code_for_one_chip_alone_is_compiled_for_it(tmp_path: Path) -> None:
    """Wrong if a kernel with products of warp groups cannot be read for the chip that has them; on
    another chip the compiler's first word counts."""
    path = tmp_path / "wgmma.cu"
    path.write_text('__global__ void k() { asm volatile("wgmma.fence.sync.aligned;"); }')
    module = load(path, compute_capability=(9, 0))
    assert module.architecture == "sm_90a"
    assert module.machine_kernel().target == "sm_90a"
    with pytest.raises(CompileError, match=r"not supported on \.target"):
        load(path, compute_capability=(8, 0))


@pytest.fixture
def ptx(tmp_path: Path) -> Path:
    path = tmp_path / "kernels.cu"  # the suffix says nothing
    path.write_text(compile_cuda(SOURCE, name="k.cu", architecture="sm_80").ptx)
    return path


def test_ptx_is_assembled_for_the_chip(ptx: Path) -> None:
    """As the driver would: registers and machine code are those of the source compiled for it."""
    module = load(ptx, compute_capability=(9, 0))
    assert module.kind is FileKind.PTX
    assert (module.architecture, module.notes) == ("sm_90", ())
    assert module.has_machine_code
    kernel, machine = module.kernel(), module.machine_kernel()
    assert (kernel.isa, machine.isa) == ("ptx", "sass")
    assert (kernel.label, machine.label) == ("plain", "plain")
    assert kernel.resources == machine.resources
    assert kernel.resources.source == "cubin by ptxas for sm_90"
    assert [p.name for p in machine.parameters] == [p.name for p in kernel.parameters]
    own = compile_cuda(SOURCE, name="k.cu", architecture="sm_90").cubin
    compiled = read_cubin(own, name="k.cubin").kernels[kernel.name].resources
    assert kernel.resources.registers == compiled.registers


@pytest.mark.parametrize(
    ("chip", "reason"),
    [((1, 3), "no installed ptxas assembles for sm_13"), ((7, 5), "SM version specified")],
    ids=["old chip", "older than the PTX"],
)
def test_ptx_that_no_ptxas_assembles_has_estimated_registers(
    ptx: Path, chip: tuple[int, int], reason: str
) -> None:
    module = load(ptx, compute_capability=chip)
    assert module.notes == (f"the PTX was made for sm_80, not for sm_{chip[0]}{chip[1]}",)
    assert not module.has_machine_code
    assert reason in module.without_machine_code
    kernel = module.kernel()
    assert kernel.resources.registers
    assert kernel.resources.source == "estimate from live PTX registers"
    with pytest.raises(UnsupportedError, match=reason):
        module.machine_kernel()


def test_a_cubin_gives_resources_only(tmp_path: Path) -> None:
    compiled = compile_cuda(SOURCE, name="k.cu", architecture="sm_80")
    path = tmp_path / "k.cubin"
    path.write_bytes(compiled.cubin)
    kernel = load(path).kernel("plain")
    assert kernel.isa == "sass"
    assert kernel.label == "plain"
    assert kernel.resources.registers


def test_the_user_overrides_registers(source: Path) -> None:
    resources = load(source, registers=77).kernel("plain").resources
    assert resources.registers == 77
    assert resources.source == "given by the user"


def test_a_template_that_is_not_there_suggests_the_nearest(source: Path) -> None:
    with pytest.raises(NotFoundError, match="did you mean scale"):
        load(source, kernels=["sclae<float, 4>"])
    with pytest.raises(CompileError, match="scale<4>"):
        load(source, kernels=["lib::scale<4>"])


def test_a_template_of_an_included_file_stands_beside_the_sources_own_kernels(
    tmp_path: Path,
) -> None:
    (tmp_path / "lib.cuh").write_text("template <int N> __global__ void fill(int* x) { *x = N; }")
    path = tmp_path / "k.cu"
    path.write_text('#include "lib.cuh"\n__global__ void own(int* x) { *x = 0; }')
    module = load(path, kernels=["fill<3>"])
    assert set(module.kernel_names) == {"fill<3>", "own"}


def test_a_file_of_templates_says_how_to_name_one(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_text("template <int N> __global__ void fill(int* x) { x[0] = N; }")
    with pytest.raises(InputError, match="fill<N>"):
        load(path).kernel()


def test_a_byte_order_mark_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_bytes(b"\xef\xbb\xbf__global__ void k() {}")
    assert load(path).kernel().label == "k"


def test_a_comment_in_another_encoding_is_no_error(tmp_path: Path) -> None:
    path = tmp_path / "k.cu"
    path.write_bytes(b"// gr\xf6\xdfe\n__global__ void k() {}")
    assert load(path).kernel().label == "k"


def test_bad_files_are_one_line(tmp_path: Path) -> None:
    for name, content, error in (
        ("broken.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.entry k( {", ParseError),
        ("broken.cu", "__global__ void k() { error }", CompileError),
        ("app.toml", "source = 'x.cu'\n[[launch]]\ngrid = 1\n", InputError),
    ):
        path = tmp_path / name
        path.write_text(content)
        with pytest.raises(error) as caught:
            load(path).kernel()
        assert name in str(caught.value)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "none.cu")


LABELS = {
    "_Z1aIfEvv": "a<float>",
    "_Z1aIdEvv": "a<double, 4>",
    "_ZN1n1bEv": "n::b",
    "_ZN1n1bEi": "n::b",
    "c": "c",
    "_ZN1n1dEv": "n::d",
}


class TestChoice:
    """Which kernel a name means."""

    @pytest.mark.parametrize(
        ("name", "key"),
        [
            ("a<float>", "_Z1aIfEvv"),
            ("a<double,4>", "_Z1aIdEvv"),
            ("_ZN1n1bEi", "_ZN1n1bEi"),
            ("c", "c"),
            ("n::d", "_ZN1n1dEv"),
            ("d", "_ZN1n1dEv"),
        ],
    )
    def test_by_source_name_mangled_name_or_last_part(self, name: str, key: str) -> None:
        assert choose_kernel(name, LABELS, where="k.cu") == key

    def test_the_only_kernel_needs_no_name(self) -> None:
        assert choose_kernel("", {"_Z1av": "a"}, where="k.cu") == "_Z1av"

    @pytest.mark.parametrize(
        ("name", "listed"),
        [
            ("", "a<float>, a<double, 4>"),
            ("a", "a<float>, a<double, 4>"),
            ("n::b", "_ZN1n1bEv, _ZN1n1bEi"),
        ],
    )
    def test_several_are_listed(self, name: str, listed: str) -> None:
        with pytest.raises(InputError) as caught:
            choose_kernel(name, LABELS, where="k.cu")
        assert listed in caught.value.what
        assert "--kernel" in caught.value.hint

    def test_an_unknown_one_suggests_the_nearest(self) -> None:
        with pytest.raises(NotFoundError, match="did you mean a<float>"):
            choose_kernel("a<flaot>", LABELS, where="k.cu")

    def test_a_file_without_kernels_says_so(self) -> None:
        with pytest.raises(InputError, match="no kernel"):
            choose_kernel("a", {}, where="k.cu")


def test_names_are_known_without_compiling(source: Path, tmp_path: Path) -> None:
    assert kernel_names(source) == ("scale", "plain")
    compiled = compile_cuda(SOURCE, name="k.cu", architecture="sm_80")
    (tmp_path / "k.ptx").write_text(compiled.ptx)
    (tmp_path / "k.cubin").write_bytes(compiled.cubin)
    assert kernel_names(tmp_path / "k.ptx") == ("plain",)
    assert kernel_names(tmp_path / "k.cubin") == ("plain",)


def test_of_many_kernels_only_some_are_named() -> None:
    labels = {f"k{number}": f"k{number}" for number in range(1000)}
    with pytest.raises(InputError, match=r"1000 kernels to choose from: k0, .* and 980 more"):
        choose_kernel("", labels, where="lib.so")
