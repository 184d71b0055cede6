"""nvdisasm as a tool that may be missing, slow, too new or wrong; and what it says of real code."""

from __future__ import annotations

import stat
import tempfile
from contextlib import suppress
from pathlib import Path

import pytest

from kernelcast.errors import InputError, ToolError, UnsupportedError
from kernelcast.toolchain import nvdisasm
from kernelcast.toolchain.cache import Cache
from kernelcast.toolchain.nvdisasm import disassemble
from kernelcast.toolchain.nvrtc import CompileOptions, compile_cuda

SOURCE = 'extern "C" __global__ void k(float* y) { y[threadIdx.x] *= 2.0f; }'


@pytest.fixture(scope="module")
def cubin() -> bytes:
    return compile_cuda(SOURCE, name="k.cu", architecture="sm_90").cubin


@pytest.fixture
def alone(monkeypatch):
    """Neither packages nor the system hold an nvdisasm."""
    monkeypatch.setattr(nvdisasm, "find_in_wheels", lambda *_: ())
    monkeypatch.setattr(nvdisasm, "find_in_packages", lambda _: ())
    monkeypatch.setenv("PATH", "/bin:/usr/bin")


@pytest.fixture
def pretend(tmp_path, monkeypatch, alone):
    """Put shell scripts in the place of nvdisasm, the oldest first; they count their calls in the
    file `calls`."""

    def install(*scripts: str) -> Path:
        calls = tmp_path / "calls"
        files = [tmp_path / f"nvdisasm{number}" for number in range(len(scripts))]
        for file, script in zip(files, scripts, strict=True):
            file.write_text(f'#!/bin/sh\necho "$@" >> {calls}\n{script}\n')
            file.chmod(file.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setattr(nvdisasm, "find_in_wheels", lambda *_: tuple(files))
        return calls

    return install


def test_a_listing_has_encodings_and_both_kinds_of_lines(cubin):
    text = disassemble(cubin)
    assert ".text.k:" in text
    assert 'k.cu", line 1' in text
    assert '//## File ".nv_debug_ptx_txt", line' in text
    assert text.count("/* 0x") == 2 * text.count(";")


def test_code_without_line_information_is_listed_too():
    plain = compile_cuda(
        SOURCE, name="k.cu", architecture="sm_90", options=CompileOptions(line_info=False)
    )
    text = disassemble(plain.cubin)
    assert ".text.k:" in text
    assert "//## File" not in text


def test_a_missing_wheel_is_named_with_the_command_that_installs_it(alone):
    with pytest.raises(ToolError, match="pip install nvidia-cuda-nvdisasm"):
        disassemble(b"")


def test_what_the_newest_refuses_is_read_by_an_older_one(pretend, tmp_path):
    refusal = """echo 'nvdisasm fatal: CUDA architecture "SM70" is deprecated' >&2; exit 1"""
    calls = pretend("echo older", refusal)
    cache = Cache(tmp_path / "cache")
    assert disassemble(b"1", cache) == disassemble(b"1", cache) == "older\n"
    assert len(calls.read_text().splitlines()) == 2


def test_of_several_refusals_the_newest_is_told(pretend):
    pretend("echo 'fatal: SM35 is unknown' >&2; exit 1", "echo 'fatal: SM35 is gone' >&2; exit 1")
    with pytest.raises(UnsupportedError, match=r"SM35 is gone.*CUDA Toolkit"):
        disassemble(b"")


def test_an_architecture_it_refuses_is_unsupported_in_its_own_words(cubin):
    old = bytearray(cubin)
    old[49] = 70  # the architecture in the header's flags
    with pytest.raises(UnsupportedError) as caught:
        disassemble(bytes(old), name="old.cubin")
    assert 'CUDA architecture "SM70" is deprecated' in caught.value.what
    assert caught.value.where == "old.cubin"
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("length", [0, 3, 100, 3000])
def test_a_cut_cubin_is_an_input_error(cubin, length):
    with pytest.raises(InputError) as caught:
        disassemble(cubin[:length], name="cut.cubin")
    assert "\n" not in str(caught.value)
    assert tempfile.gettempdir() not in str(caught.value)


def test_the_second_call_comes_from_the_cache(cubin, tmp_path, pretend):
    calls = pretend("echo listing")
    cache = Cache(tmp_path / "cache")
    assert disassemble(cubin, cache) == disassemble(cubin, cache) == "listing\n"
    assert len(calls.read_text().splitlines()) == 1
    disassemble(cubin + b"\0", cache)
    assert len(calls.read_text().splitlines()) == 2


def test_damaged_line_information_does_not_hide_the_code(pretend):
    calls = pretend('case "$*" in *-gp*) echo "bad lines" >&2; exit 1;; esac; echo code')
    assert disassemble(b"") == "code\n"
    assert len(calls.read_text().splitlines()) == 2


def test_it_is_stopped_after_a_while(pretend):
    pretend("exec sleep 60")
    with pytest.raises(ToolError, match=r"took longer than 0\.2 s"):
        disassemble(b"", timeout_s=0.2)


def test_a_program_that_cannot_be_started_is_a_tool_error(tmp_path, monkeypatch):
    file = tmp_path / "nvdisasm"
    file.write_text("not a program")
    monkeypatch.setattr(nvdisasm, "find_in_wheels", lambda *_: (file,))
    with pytest.raises(ToolError, match="cannot run nvdisasm"):
        disassemble(b"")


@pytest.mark.parametrize("script", ["echo listing", "echo no >&2; exit 1"])
def test_nothing_is_left_behind(tmp_path, monkeypatch, pretend, script):
    pretend(script)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    with suppress(InputError):
        disassemble(b"")
    assert list(scratch.iterdir()) == []
