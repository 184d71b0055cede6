"""Where tests keep what compilers make."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests import kept


def test_what_another_session_may_be_using_is_left_alone(tmp_path):
    """A session that starts must not delete what one of another version is linking with."""
    ours, running, old = (tmp_path / name for name in ("ours", "running", "old"))
    for folder in (running, old):
        (folder / "device").mkdir(parents=True)
    os.utime(old, (0, 0))
    kept.delete_unused(tmp_path, ours)
    assert ours.is_dir()
    assert (running / "device").is_dir()
    assert not old.exists()


def test_a_session_finds_its_folder_again_and_two_have_one_each(tmp_path):
    with kept.folder_of_session(tmp_path) as first, kept.folder_of_session(tmp_path) as second:
        assert first != second
    with kept.folder_of_session(tmp_path) as again:
        assert again == first


def test_nothing_is_kept_for_the_user(tmp_path):
    """Loops that are compiled when their module is imported are no exception."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "user")}
    del environment["KERNELCAST_CACHE"]
    collect = ("-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", __file__)
    done = subprocess.run(
        [sys.executable, *collect],
        env=environment,
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert not (tmp_path / "user").exists()
