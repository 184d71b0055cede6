"""What each opcode of SASS does, in steps of PTX."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kernelcast.isas.sass.meaning import (
    atomics,
    bits,
    bulk,
    control,
    conversions,
    copies,
    double,
    extremes,
    floating,
    half,
    integer,
    matrices,
    mbarriers,
    memory,
    moves,
    packed,
    predicates,
    special_functions,
    system,
    tensor,
    tensor_memory,
    textures,
    warp,
)
from kernelcast.isas.sass.meaning.lift import SassLift

SassMeaning = Callable[[SassLift], None]

MEANINGS: Mapping[str, SassMeaning] = {
    **moves.MEANINGS,
    **integer.MEANINGS,
    **packed.MEANINGS,
    **extremes.MEANINGS,
    **bits.MEANINGS,
    **predicates.MEANINGS,
    **floating.MEANINGS,
    **double.MEANINGS,
    **half.MEANINGS,
    **conversions.MEANINGS,
    **special_functions.MEANINGS,
    **memory.MEANINGS,
    **textures.MEANINGS,
    **matrices.MEANINGS,
    **tensor.MEANINGS,
    **tensor_memory.MEANINGS,
    **copies.MEANINGS,
    **bulk.MEANINGS,
    **mbarriers.MEANINGS,
    **control.MEANINGS,
    **system.MEANINGS,
    **warp.MEANINGS,
    **atomics.MEANINGS,
}
