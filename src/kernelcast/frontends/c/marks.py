"""Pragmas that mark a loop to become a kernel."""

from __future__ import annotations

from dataclasses import dataclass

_PARALLEL = ("acc parallel", "acc kernels", "acc loop", "omp parallel for", "omp for")
_TARGET = "omp target"


@dataclass(frozen=True, slots=True)
class LoopMark:
    """What a pragma says of a loop: whether its programmer vouches that arrays do not overlap."""

    is_independent: bool = False


def mark_of(pragma: str) -> LoopMark | None:
    """The mark of a pragma's text; None where it marks no loop.

    `kernelcast parallel` and `kernelcast independent` are ours. Those of OpenMP and OpenACC count
    as `independent`: iterations of such a loop must not meet.
    """
    words = pragma.replace("(", " (").split()
    if words[:1] == ["kernelcast"] and set(words[1:]) & {"parallel", "independent"}:
        return LoopMark("independent" in words)
    text = " ".join(words)
    if text.startswith(_PARALLEL) or (text.startswith(_TARGET) and "for" in words):
        return LoopMark(True)
    return None
