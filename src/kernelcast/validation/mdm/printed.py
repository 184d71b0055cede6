"""Mean errors that the paper prints, to be told beside ours.

L. Wang, M. Jahre, A. Adileh, L. Eeckhout: MDM: The GPU Memory Divergence Model. MICRO 2020. Its
text has GPUMech+ at 131 % on the machine of Table III, which has 128 miss registers, and at 124 %
with 128 of them in Figure 8.
"""

from __future__ import annotations

from collections.abc import Mapping

from kernelcast.validation.mdm.schemes import GPUMECH, GPUMECH_PLUS, MDM, MDM_MSHR, MDM_QUEUE

MD_ERRORS = {
    GPUMECH: 2.98,
    GPUMECH_PLUS: 1.31,
    MDM_QUEUE: 0.63,
    MDM_MSHR: 0.603,
    MDM: 0.18,
}
"""Section V-A, Figure 5."""

NMD_ERRORS = {GPUMECH: 0.09, MDM: 0.09}
"""The same where loads do not diverge: "around 9 %"."""

SWEEP_ERRORS: Mapping[tuple[str, float], Mapping[str, float]] = {
    ("Figure 8", 32): {GPUMECH: 0.98},
    ("Figure 8", 128): {GPUMECH_PLUS: 1.24},
    ("Figure 8", 256): {GPUMECH: 3.17, GPUMECH_PLUS: 1.33},
    ("Figure 9", 15): {GPUMECH: 1.24},
    ("Figure 9", 80): {GPUMECH: 4.5},
}
"""Section V-B, by figure and value. MDM stays below 26 % in Figure 9."""

STALLS_SCALED = "stalls scaled"
"""What stands in CRISP's place: the nominal run of MDM by `exploration.dvfs`."""

CLOCK_ERRORS = {GPUMECH: 0.28, MDM: 0.046, STALLS_SCALED: 0.037}
"""Section VII, Figure 13."""
