"""Files that are written whole, and what is no file."""

import os
import stat
import threading
from pathlib import Path

import pytest

from kernelcast.errors import InputError
from kernelcast.files import write_whole


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_whole(pipe, b"text")
    reader.join()
    assert read == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="there is no /dev/full here")
def test_a_device_refuses_and_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to("/dev/full")
    with pytest.raises(InputError, match="No space left on device"):
        write_whole(link, b"text")
    assert link.is_symlink()
    assert Path("/dev/full").is_char_device()


def test_a_link_leads_on(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("file")
    write_whole(tmp_path / "link", b"text")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"text"
