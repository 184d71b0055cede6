"""Names that a workload and its source both have, where only one of them was given a value."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.cli.main import main
from kernelcast.frontends.macros import unheard

TILED = """
#ifndef tile_size
#define tile_size 1
#endif
#if use_method == 1
#define SKIP 0
#endif
__global__ void tiled(float* x) { x[threadIdx.x] = tile_size + block_size_x; }
"""


@pytest.mark.parametrize("name", ["tile_size", "use_method"])
def test_a_macro_that_only_the_launch_was_told_of_is_named(name: str) -> None:
    (warning,) = unheard(TILED, "k.cu", {name: 8}, ())
    assert warning.startswith(f"{name} is 8 in the launch alone")
    assert f"-D {name}=8" in warning


@pytest.mark.parametrize(
    ("names", "defines"),
    [
        ({"tile_size": 8}, ("tile_size=8",)),
        ({"tile_size": 1}, ()),
        ({"n": 8}, ("block_size_x=32",)),
        ({"only_in_launch": 8}, ("only_in_launch=8",)),
    ],
)
def test_what_both_know_or_only_one_needs_is_no_matter(
    names: dict[str, int], defines: tuple[str, ...]
) -> None:
    assert unheard(TILED, "k.cu", names, defines) == ()


def test_a_macro_that_nobody_has_is_named_with_the_nearest() -> None:
    (warning,) = unheard(TILED, "k.cu", {}, ("tile_sise=8",))
    assert warning == (
        "-D tile_sise: neither k.cu nor the launch has that name; did you mean tile_size?"
    )
    assert unheard('#include "other.h"\n' + TILED, "k.cu", {}, ("tile_sise=8",)) == ()


def test_what_a_comment_says_is_no_macro() -> None:
    assert unheard("/* #define n 3\n#define n 4 */\n// #ifdef n\n", "k.cu", {"n": 8}, ()) == ()


def test_the_report_warns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "tiled.cu"
    asked = ["predict", str(file), "--gpu", "a40", "--model", "volkov"]
    head = (
        '/* kernelcast\ntile_size = 8\n[[launch]]\nkernel = "tiled"\ngrid = 1\nblock = 32\n'
        'args = { x = "f32[32]" }\n*/'
    )
    file.write_text(head + TILED.replace(" + block_size_x", ""))
    assert main(asked) == 0
    assert "tile_size is 8 in the launch alone" in " ".join(capsys.readouterr().out.split())
    file.write_text(head + TILED)
    assert main(asked) == 2
    assert "-D block_size_x=VALUE" in capsys.readouterr().err
