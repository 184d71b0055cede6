from __future__ import annotations

from pathlib import Path

import pytest

from kernelcast.toolchain import wheels


def test_a_file_that_two_patterns_match_is_found_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "nvidia/cuda_nvrtc/lib/libnvrtc.so.12"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.setattr(wheels, "site_packages", lambda: (tmp_path,))
    found = wheels.find_in_wheels("cu*/lib/libnvrtc.so.*", "cuda_nvrtc/lib/libnvrtc.so.*")
    assert found == (library,)
