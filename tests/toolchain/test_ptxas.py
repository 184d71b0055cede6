"""ptxas as a tool that may be missing, slow, too old or wrong; and what it makes of real PTX."""

from __future__ import annotations

import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from kernelcast.errors import CompileError, InputError, ToolError
from kernelcast.isas.sass import SassFunction, parse_sass
from kernelcast.toolchain import ptxas
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import compile_cuda
from kernelcast.toolchain.ptxas import assemble
from kernelcast.toolchain.wheels import find_in_wheels

installed = pytest.mark.skipif(
    not find_in_wheels(ptxas.NEWEST), reason="needs ptxas: pip install nvidia-cuda-nvcc"
)

HEAD = ".version 8.0\n.target sm_80\n.address_size 64\n"
PTX = f"""{HEAD}.visible .entry k(.param .u64 p) {{
.reg .b64 %a; .reg .b32 %r;
ld.param.u64 %a, [p];
mov.u32 %r, %tid.x;
st.global.u32 [%a], %r;
ret;
}}
"""
CUDA = """
__global__ void sums(const float* x, float* y, int n) {
    __shared__ float tile[256];
    float sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += x[i] / 3;
    tile[threadIdx.x] = sum;
    __syncthreads();
    y[threadIdx.x] = tile[threadIdx.x ^ 1];
}
"""


def only_function(cubin: bytes) -> SassFunction:
    (function,) = parse_sass(disassemble(cubin)).functions.values()
    return function


def refused(ptx: str, architecture: str = "sm_90") -> CompileError:
    with pytest.raises(CompileError) as caught:
        assemble(ptx, architecture, name="k.ptx")
    assert "\n" not in str(caught.value)
    return caught.value


@installed
@pytest.mark.parametrize("architecture", ["sm_75", "sm_90", "sm_120"])
def test_ptx_of_nvrtc_becomes_the_machine_code_of_nvrtc(architecture: str) -> None:
    compiled = compile_cuda(CUDA, name="k.cu", architecture=architecture)
    ours = only_function(assemble(compiled.ptx, architecture, name="k.ptx"))
    theirs = only_function(compiled.cubin)
    assert [i.encoding for i in ours.instructions] == [i.encoding for i in theirs.instructions]


@installed
def test_machine_code_leads_back_to_lines_of_the_ptx() -> None:
    function = only_function(assemble(PTX, "sm_90", name="k.ptx"))
    lines = {i.opcode: i.ptx_line or 0 for i in function.instructions}
    assert "st.global" in PTX.splitlines()[lines["STG"] - 1]
    assert "%tid.x" in PTX.splitlines()[lines["S2R"] - 1]


@installed
def test_the_same_text_gives_the_same_bytes() -> None:
    assert assemble(PTX, "sm_90", name="a.ptx") == assemble(PTX, "sm_90", name="b.ptx")


@installed
@pytest.mark.parametrize(
    ("text", "architecture", "words"),
    [
        (PTX.replace("ret;", "rat;"), "sm_90", ("k.ptx:9: ", "'rat'")),
        (PTX.replace("8.0", "99.0"), "sm_90", ("k.ptx:1: ", "99.0", "--upgrade")),
        (PTX, "sm_75", ("k.ptx: ", "its .target or a later")),
        (PTX.replace("sm_80", "sm_90a"), "sm_100", ("'sm_90a'", "for its .target")),
        (f"{HEAD}.extern .func f(); .entry k() {{ call f; }}", "sm_90", ("'f'", "define")),
        ("", "sm_90", ("k.ptx:1: ", "'k.ptx'", ".version")),
    ],
)
def test_refused_ptx_is_named_with_its_line_and_a_way_out(
    text: str, architecture: str, words: tuple[str, ...]
) -> None:
    error = refused(text, architecture)
    assert all(word in str(error) for word in words)
    assert error.what in error.log or "k.ptx" in error.what


@installed
def test_an_architecture_that_no_ptxas_knows_is_a_tool_error() -> None:
    with pytest.raises(ToolError, match="nvidia-cuda-nvcc-cu12"):
        assemble(PTX, "sm_20", name="k.ptx")


def test_a_word_that_is_no_architecture_is_an_input_error() -> None:
    with pytest.raises(InputError, match="sm_90"):
        assemble(PTX, "90 -o /x", name="k.ptx")


def test_a_missing_wheel_is_named_with_the_command_that_installs_it(monkeypatch) -> None:
    monkeypatch.setattr(ptxas, "find_in_wheels", lambda *_: ())
    with pytest.raises(ToolError, match="pip install nvidia-cuda-nvcc"):
        assemble(PTX, "sm_90", name="k.ptx")


@pytest.fixture
def pretend(tmp_path, monkeypatch):
    """Put shell scripts in the place of installed ptxas programs, the newest first."""

    def install(*scripts: str) -> Path:
        calls = tmp_path / "calls"
        files = []
        for number, script in enumerate(scripts):
            file = tmp_path / f"ptxas{number}"
            file.write_text(f"#!/bin/sh\necho {number} >> {calls}\n{script}\n")
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
            files.append(file)
        monkeypatch.setattr(ptxas, "ptxas_paths", lambda: tuple(files))
        return calls

    return install


TOO_NEW = "echo \"ptxas fatal   : Value 'sm_50' is not defined for option 'gpu-name'\" >&2; exit 1"


def test_an_older_program_serves_older_architectures(pretend) -> None:
    calls = pretend(TOO_NEW, "echo cubin > output.cubin")
    assert assemble(PTX, "sm_50", name="k.ptx") == b"cubin\n"
    assert calls.read_text().split() == ["0", "1"]


def test_the_newest_program_comes_first(monkeypatch) -> None:
    found = {ptxas.NEWEST: (Path("cu13"), Path("cu14")), ptxas.OLDER: (Path("12"),)}
    monkeypatch.setattr(ptxas, "find_in_wheels", lambda pattern: found[pattern])
    assert ptxas.ptxas_paths() == (Path("cu14"), Path("cu13"), Path("12"))


def test_the_second_call_comes_from_the_cache(pretend, tmp_path) -> None:
    calls = pretend("echo cubin > output.cubin")
    cache = Cache(tmp_path / "cache")
    for text, architecture in ((PTX, "sm_90"), (PTX, "sm_90"), (PTX, "sm_80"), (HEAD, "sm_90")):
        assert assemble(text, architecture, name="k.ptx", cache=cache) == b"cubin\n"
    assert len(calls.read_text().split()) == 3


def test_it_is_stopped_after_a_while(pretend) -> None:
    pretend("exec sleep 60")
    with pytest.raises(ToolError, match=r"took longer than 0\.2 s"):
        assemble(PTX, "sm_90", name="k.ptx", timeout_s=0.2)


def test_a_program_that_cannot_be_started_is_a_tool_error(tmp_path, monkeypatch) -> None:
    file = tmp_path / "ptxas"
    file.write_text("not a program")
    monkeypatch.setattr(ptxas, "ptxas_paths", lambda: (file,))
    with pytest.raises(ToolError, match="cannot run ptxas"):
        assemble(PTX, "sm_90", name="k.ptx")


def test_a_crash_is_told_as_such(pretend) -> None:
    pretend("exit 139")
    assert "status 139" in str(refused(PTX))


@pytest.mark.parametrize("script", ["echo cubin > output.cubin", "echo no >&2; exit 1"])
def test_nothing_is_left_behind(tmp_path, monkeypatch, pretend, script) -> None:
    pretend(script)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with suppress(CompileError):
        assemble(PTX, "sm_90", name="k.ptx")
    assert list(scratch.iterdir()) == []
