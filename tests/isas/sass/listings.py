"""Listings written by hand: an instruction is its text and its control code."""

from __future__ import annotations

from collections.abc import Sequence

NO_BARRIER = 7


def control(
    stall: int = 1,
    *,
    yields: bool = False,
    write: int = NO_BARRIER,
    read: int = NO_BARRIER,
    waits: Sequence[int] = (),
) -> int:
    """The control bits, from bit 105 of an encoding on."""
    mask = sum(1 << barrier for barrier in waits)
    return stall | (not yields) << 4 | write << 5 | read << 8 | mask << 11


def listing(*lines: str | tuple[str, int], name: str = "k", target: str = "sm_90") -> str:
    """nvdisasm's text for one kernel: labels end in a colon, instructions may have control bits."""
    text = [
        f"\t.target\t{target}",
        f"//--------------------- .text.{name} --------------------------",
        f'        .other          {name},@"STO_CUDA_ENTRY STV_DEFAULT"',
        f"{name}:",
        f".text.{name}:",
    ]
    address = 0
    for line in lines:
        body, bits = line if isinstance(line, tuple) else (line, control())
        if body.endswith(":") or body.startswith("//##"):
            text.append(body)
            continue
        high = bits << 41
        text.append(f"        /*{address:04x}*/   {body} ;   /* 0x{0:016x} */")
        text.append(f"                              /* 0x{high:016x} */")
        address += 16
    return "\n".join(text) + "\n"
