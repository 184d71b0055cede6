"""Launches whose numbers stand in another file of the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.frontends.source.callers import launches_of_program

KERNEL = """\
__global__ void k(float* x, int n) {}
void go(float* x, int n) {
    k<<<n / 128, 128>>>(x, n);
}
"""
MAIN = """\
void go(float* x, int n);
int main(int argc, char** argv) {
    int n = 1024;
    if (argc > 1) n = atoi(argv[1]);
    float* x;
    cudaMalloc(&x, n * sizeof(float));
    go(x, n);
}
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "kernel.cu"
    file.write_text(KERNEL)
    return file


def test_numbers_come_from_the_file_that_calls(kernel: Path) -> None:
    (kernel.parent / "main.cpp").write_text(MAIN)
    (found,) = launches_of_program(KERNEL, str(kernel))
    assert (found.grid, found.block) == (("8",), ("128",))
    assert found.arguments == {"x": "f32[1024]", "n": "1024"}
    assert found.line == 3
    assert found.is_without_arguments


def test_launches_of_the_other_file_are_its_own(kernel: Path) -> None:
    other = MAIN.replace("go(x, n);", "go(x, n); k<<<7, 32>>>(x, n);")
    (kernel.parent / "main.cu").write_text(f'#include "{kernel.name}"\n{other}')
    (found,) = launches_of_program(KERNEL, str(kernel))
    assert found.grid == ("8",)


def test_of_a_folder_with_several_programs_nothing_is_taken(kernel: Path) -> None:
    for name in ("one.cpp", "two.cpp"):
        (kernel.parent / name).write_text(MAIN)
    (found,) = launches_of_program(KERNEL, str(kernel))
    assert set(found.opened) == {"n", "x_length"}


def test_a_source_with_a_main_of_its_own_is_the_program(kernel: Path) -> None:
    (kernel.parent / "main.cpp").write_text(MAIN)
    (found,) = launches_of_program(f"{KERNEL}int main() {{}}\n", str(kernel))
    assert set(found.opened) == {"n", "x_length"}
