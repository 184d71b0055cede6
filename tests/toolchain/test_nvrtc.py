from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.toolchain import nvrtc
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.diagnostics import in_plain_words
from kernelcast.toolchain.header_shims import HEADER_SHIMS
from kernelcast.toolchain.nvrtc import (
    Compilation,
    CompileOptions,
    choose_architecture,
    compile_cuda,
    supported_architectures,
)

SAXPY = """
extern "C" __global__ void saxpy(int n, float a, const float* x, float* y) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
"""


def compiled(source: str, **keywords: object) -> Compilation:
    given = {"name": "kernel.cu", "architecture": "sm_90", **keywords}
    return compile_cuda(source, **given)  # type: ignore[arg-type]


def refused(source: str, **keywords: object) -> CompileError:
    with pytest.raises(CompileError) as caught:
        compiled(source, **keywords)
    return caught.value


def test_a_source_becomes_ptx_and_cubin_for_the_target() -> None:
    result = compiled(SAXPY)
    assert ".target sm_90" in result.ptx
    assert ".entry saxpy(" in result.ptx
    assert 'kernel.cu"' in result.ptx, "line numbers need the file's name"
    assert result.cubin.startswith(b"\x7fELF")


def test_a_template_is_instantiated_by_name_expression() -> None:
    source = "template <int N> __global__ void fill(int* x) { x[threadIdx.x] = N; }"
    result = compiled(source, name_expressions=["fill<16>"])
    assert result.lowered_names == {"fill<16>": "_Z4fillILi16EEvPi"}
    assert "_Z4fillILi16EEvPi" in result.ptx


def test_options_reach_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "value.h").write_text("#define FROM_HEADER 7\n")
    source = (
        "#include <value.h>\n"
        "#if __cplusplus != 202002L || WIDTH != 3 || FLAG != 1 || FROM_HEADER != 7\n"
        "#error an option is missing\n#endif\n__global__ void k() {}"
    )
    options = CompileOptions(
        defines=("WIDTH=3", "FLAG"), include_dirs=(tmp_path,), std="c++20", extra=("--fmad=false",)
    )
    compiled(source, options=options)


@pytest.mark.parametrize("header", sorted(HEADER_SHIMS))
def test_a_header_that_kernels_often_include_need_not_be_installed(header: str) -> None:
    assert compile_headers((header,))


def test_all_those_headers_agree_with_each_other() -> None:
    assert compile_headers(
        tuple(HEADER_SHIMS),
        "x[0] = INFINITY + NAN + M_PI + FLT_MAX + isnan(x[1]) + std::abs(x[2]);"
        "std::uint64_t big = UINT64_MAX; x[1] = big % INT_MAX; uint8_t small = small_of(x);"
        'x[2] = small; assert(x[0] > 0); printf("%d", INT32_MAX);',
    )


def compile_headers(headers: tuple[str, ...], body: str = "") -> str:
    includes = "".join(f"#include <{header}>\n" for header in headers)
    device = "__device__ unsigned char small_of(float* x) { return (unsigned char)x[3]; }\n"
    return compiled(f"{includes}{device}__global__ void k(float* x) {{ {body} }}").ptx


@pytest.mark.parametrize(
    ("source", "where", "what", "hint"),
    [
        ("\n__global__ void k() { int x = 1 }", "kernel.cu:2", 'expected a ";"', ""),
        ("__global__ void k() {", "kernel.cu", 'expected a "}"', ""),
        ('#include "none.h"', "kernel.cu:1", "none.h", "-I"),
        ("#include <cuda_fp16.h>", "kernel.cu:1", "cuda_fp16.h", "pip install"),
        (
            "#include <curand_kernel.h>",
            "kernel.cu:1",
            "curand_kernel.h",
            "pip install nvidia-curand",
        ),
        ("#include <vector>", "kernel.cu:1", "vector", "__CUDACC_RTC__"),
        ("int main() { return 0; }", "kernel.cu:1", "host code", "__CUDACC_RTC__"),
        (
            "__global__ void k() {}\n#ifndef NONE\nint main() { k<<<1, 1>>>(); }\n#endif",
            "kernel.cu:3",
            "host code",
            "__CUDACC_RTC__",
        ),
        ('__global__ void k() { asm("nonsense;"); }', "kernel.cu", "nonsense", ""),
        (
            "__device__ int f(); __global__ void k(int* x) { *x = f(); }",
            "kernel.cu",
            "extern",
            "same file",
        ),
        (
            "__global__ void k(int* x) { __shared__ int s[99999]; s[x[0]] = 1; __syncthreads();"
            " x[1] = s[x[2]]; }",
            "kernel.cu",
            "too much shared data",
            "dynamic",
        ),
    ],
)
def test_a_refused_source_names_place_reason_and_way_out(
    source: str, where: str, what: str, hint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelcast.toolchain.nvrtc._header_directories", lambda _: ())
    error = refused(source)
    assert error.where == where
    assert what in error.what
    assert hint in error.hint
    assert "\n" not in str(error)
    assert error.what in in_plain_words(error.log) or "host code" in error.what


def test_a_wrong_template_expression_is_named() -> None:
    source = "template <int N> __global__ void fill(int* x) { x[0] = N; }"
    error = refused(source, name_expressions=["fill<float>"])
    assert "fill<float>" in str(error)
    assert "__nv_name_map" not in str(error)


def test_an_unknown_architecture_names_the_known_ones() -> None:
    with pytest.raises(ToolError, match="sm_75"):
        compiled(SAXPY, architecture="sm_20")
    with pytest.raises(InputError, match="sm_90"):
        compiled(SAXPY, architecture="90")


def test_architecture_variants_are_understood() -> None:
    assert ".target sm_90a" in compiled(SAXPY, architecture="sm_90a").ptx


class Library:
    """Stands in for an NVRTC of some version and targets."""

    def __init__(self, version: tuple[int, int], architectures: tuple[int, ...]) -> None:
        self.version = version
        self.architectures = architectures


@pytest.mark.parametrize(
    ("compute_capability", "architecture", "note"),
    [
        ((9, 0), "sm_90", ""),
        ((1, 3), "sm_75", "compiled for sm_75, the oldest target"),
        ((6, 1), "sm_75", "not for sm_61"),
        ((7, 0), "sm_75", "pip install 'kernelcast[volta]'"),
        ((8, 8), "sm_86", "the nearest target"),
        ((13, 0), "sm_120", "the newest target"),
    ],
)
def test_a_chip_without_a_target_of_its_own_gets_the_nearest_and_a_note(
    monkeypatch: pytest.MonkeyPatch,
    compute_capability: tuple[int, int],
    architecture: str,
    note: str,
) -> None:
    monkeypatch.setattr(nvrtc, "_installed", lambda: (Library((13, 5), (75, 86, 90, 120)),))
    target = choose_architecture(compute_capability)
    assert target.architecture == architecture
    assert note in target.note
    assert bool(note) == bool(target.note)


def test_an_older_library_serves_older_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    new, old = Library((13, 5), (75, 90)), Library((12, 9), (50, 61, 75, 90))
    monkeypatch.setattr(nvrtc, "_installed", lambda: (new, old))
    assert supported_architectures() == (50, 61, 75, 90)
    assert choose_architecture((6, 1)).note == ""
    assert nvrtc._library_for("sm_61") is old
    assert nvrtc._library_for("sm_90") is new


def test_a_missing_library_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvrtc, "find_in_wheels", lambda *patterns: ())
    nvrtc._installed.cache_clear()
    try:
        with pytest.raises(ToolError, match="pip install nvidia-cuda-nvrtc"):
            compiled(SAXPY)
    finally:
        monkeypatch.undo()
        nvrtc._installed.cache_clear()


def test_a_library_that_cannot_be_loaded_is_a_tool_error(tmp_path: Path) -> None:
    broken = tmp_path / "libnvrtc.so.13"
    broken.write_bytes(b"not a library")
    with pytest.raises(ToolError, match="cannot load NVRTC"):
        _ = nvrtc.Nvrtc(broken).version


class TestCachedCompilation:
    """What a cached compilation must and must not be served for."""

    @pytest.fixture
    def compilations(self, monkeypatch: pytest.MonkeyPatch) -> list[str]:
        """The names of what was really compiled."""
        done: list[str] = []
        original = nvrtc.Nvrtc.compile

        def counting(self, source, name, *rest):
            done.append(name)
            return original(self, source, name, *rest)

        monkeypatch.setattr(nvrtc.Nvrtc, "compile", counting)
        return done

    def test_the_same_source_is_compiled_once(
        self, tmp_path: Path, compilations: list[str]
    ) -> None:
        first = compiled(SAXPY, cache=Cache(tmp_path))
        assert compiled(SAXPY, cache=Cache(tmp_path)) == first
        assert len(compilations) == 1

    def test_every_input_counts(self, tmp_path: Path, compilations: list[str]) -> None:
        cache = Cache(tmp_path)
        compiled(SAXPY, cache=cache)
        changes: tuple[dict[str, Any], ...] = (
            {"source": SAXPY + " "},
            {"source": SAXPY, "name": "other.cu"},
            {"source": SAXPY, "architecture": "sm_80"},
            {"source": SAXPY, "name_expressions": ["saxpy"]},
            {"source": SAXPY, "options": CompileOptions(defines=("X",))},
            {"source": SAXPY, "options": CompileOptions(std="c++14")},
            {"source": SAXPY, "options": CompileOptions(extra=("--use_fast_math",))},
            {"source": SAXPY, "options": CompileOptions(line_info=False)},
        )
        for change in changes:
            compiled(**{"cache": cache, **change})
        assert len(compilations) == 9

    def test_the_same_name_in_another_folder_is_another_file(
        self, tmp_path: Path, compilations: list[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        cache, found = Cache(tmp_path / "cache"), []
        for folder in (tmp_path / "a", tmp_path / "b"):
            folder.mkdir()
            monkeypatch.chdir(folder)
            found.append(compiled(SAXPY, name="saxpy.cu", cache=cache).ptx)
        assert len(compilations) == 2
        assert str(tmp_path / "b") in found[1], "lines are those of the file that was read"

    def test_a_changed_header_is_noticed(self, tmp_path: Path, compilations: list[str]) -> None:
        header = tmp_path / "value.h"
        source = '#include "value.h"\n__global__ void k(int* x) { *x = VALUE; }'
        cache = Cache(tmp_path / "cache")
        results = []
        for value in ("42", "42", "77"):
            header.write_text(f"#define VALUE {value}\n")
            results.append(compiled(source, name=str(tmp_path / "k.cu"), cache=cache))
        assert results[0] == results[1]
        assert "77;" in results[2].ptx
        assert len(compilations) == 2

    def test_a_damaged_entry_is_compiled_again(
        self, tmp_path: Path, compilations: list[str]
    ) -> None:
        first = compiled(SAXPY, cache=Cache(tmp_path))
        (path,) = tmp_path.glob("*/??/*")
        path.write_bytes(path.read_bytes()[:-5])
        assert compiled(SAXPY, cache=Cache(tmp_path)).cubin == first.cubin
        assert len(compilations) == 2

    def test_an_entry_that_another_version_left_is_compiled_again(
        self, tmp_path: Path, compilations: list[str]
    ) -> None:
        class OfAnotherVersion(Cache):
            def get(self, kind: str, key: str | bytes) -> bytes | None:
                return msgspec.msgpack.encode({"ptx": ""})

        assert compiled(SAXPY, cache=OfAnotherVersion(tmp_path)).cubin
        assert len(compilations) == 1
