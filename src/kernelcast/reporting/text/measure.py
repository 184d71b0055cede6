"""What was measured or made, in a line."""

from __future__ import annotations

from kernelcast.reporting.documents.measure import KeepDocument, MeasureDocument, PackDocument


def render(document: MeasureDocument | PackDocument | KeepDocument, *, brief: bool) -> str:
    """The file or folder, and how many parts it has."""
    if isinstance(document, PackDocument):
        return (
            f"{document.pack}: {len(document.files)} files for {', '.join(document.targets)}; "
            f"on the machine with the GPU: {document.command}"
        )
    if isinstance(document, KeepDocument):
        return f"{document.directory}: {len(document.files)} files"
    parts, kind = document.benchmarks, "benchmark"
    if document.kernels is not None:
        parts, kind = document.kernels, "kernel"
    return f"{document.out}: {len(parts or ())} {kind}s, {document.failed} failed"
