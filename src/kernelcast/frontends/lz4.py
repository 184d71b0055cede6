"""LZ4 blocks, the compression of fat binaries made before CUDA 13."""

from __future__ import annotations

from lz4.block import LZ4BlockError, decompress


class CompressedDataError(ValueError):
    """The data does not decompress to what was announced."""


def decompress_block(data: bytes, size_bytes: int) -> bytes:
    """The `size_bytes` bytes a block stands for; CompressedDataError where it does not."""
    if not data or not size_bytes:
        raise CompressedDataError("the data ends too early")
    try:
        made = bytes(decompress(data, uncompressed_size=size_bytes))
    except (LZ4BlockError, ValueError) as error:
        raise CompressedDataError(f"no block of LZ4: {error}") from error
    if len(made) != size_bytes:
        raise CompressedDataError("not of the size announced")
    return made
