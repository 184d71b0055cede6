"""Where a warp waits for what it has loaded."""

from kernelcast import api
from kernelcast.analysis.stalls import after_waits

KERNEL = """
extern "C" __global__ void k(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float a = x[i], b = x[i + n];
    y[i] = a * b;
    __syncthreads();
    y[i + n] = 2.0f;
    y[i + 2 * n] = 3.0f;
    for (int j = 0; j < n; j++) y[j] = x[y[j] > 0.0f ? j : 0] + 1.0f;
}
"""


def test_loads_go_together_until_one_of_them_is_needed(tmp_path):
    file = tmp_path / "k.cu"
    file.write_text(KERNEL)
    for isa in ("ptx", "sass"):
        kernel = api.load(file, build=api.Build(isa=isa))
        waits = after_waits(kernel)
        accesses = [i for i in kernel.instructions if i.op_class.is_memory and i.space == "global"]
        first, second, product, alone, last = (i.index in waits for i in accesses[:5])
        # Both loads at once, the product of them, and two stores after the barrier.
        assert (first, second, product, alone, last) == (False, False, True, True, False)
        # In the loop, what the next address depends on.
        assert any(i.index in waits for i in accesses[5:])
