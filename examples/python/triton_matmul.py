"""A product of matrices in Triton: its configurations forecast, the best three left to measure.

Run it without a GPU: python examples/python/triton_matmul.py
"""

import triton
import triton.language as tl

import kernelcast as kc
from kernelcast.adapters.triton import forecast, perf_model

N = 1024
GPU = "a100-sxm-80gb"


@triton.jit
def matmul(a, b, c, n, ROWS: tl.constexpr, COLUMNS: tl.constexpr, STEP: tl.constexpr):
    """Square matrices of f16, the product in f32; the sizes of tiles divide n."""
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    columns = tl.program_id(1) * COLUMNS + tl.arange(0, COLUMNS)
    steps = tl.arange(0, STEP)
    a_tile = a + rows[:, None] * n + steps[None, :]
    b_tile = b + steps[:, None] * n + columns[None, :]
    total = tl.zeros((ROWS, COLUMNS), tl.float32)
    for _ in range(0, n, STEP):
        total += tl.dot(tl.load(a_tile), tl.load(b_tile))
        a_tile += STEP
        b_tile += STEP * n
    tl.store(c + rows[:, None] * n + columns[None, :], total)


def grid(meta):
    """Blocks of a launch with the constants of a configuration."""
    return N // meta["ROWS"], N // meta["COLUMNS"]


ARGUMENTS = {
    "a": kc.f16(N, N, fill="random(1)"),
    "b": kc.f16(N, N, fill="random(2)"),
    "c": kc.f32(N, N),
    "n": N,
}
CONFIGURATIONS = [
    triton.Config({"ROWS": rows, "COLUMNS": columns, "STEP": 32}, num_warps=warps)
    for rows, columns, warps in [(32, 32, 4), (64, 64, 4), (128, 64, 4), (128, 128, 8)]
]

seconds = perf_model(matmul, grid, GPU)
tuned = triton.autotune(
    CONFIGURATIONS, key=["n"], prune_configs_by={"perf_model": seconds, "top_k": 3}
)(matmul)
# On a machine with a GPU, `tuned[grid](...)` does this itself, and measures those three.
tuned.nargs = ARGUMENTS
chosen = tuned.prune_configs({})
print(f"{len(CONFIGURATIONS)} configurations, of which to measure on {GPU}:")
for configuration in chosen:
    print(f"  {configuration}")

best = chosen[0]
print(
    forecast(
        matmul,
        None,
        best.kwargs,
        grid,
        GPU,
        args=ARGUMENTS,
        compile_options={"num_warps": best.num_warps},
    )
)
