"""A dot product in Numba: shared memory, barriers, atomics, events, and too large an array."""

import warnings

import numpy as np

warnings.simplefilter("ignore")

from numba import cuda, float32  # noqa: E402


@cuda.jit
def dot(x, y, out):
    partial = cuda.shared.array(128, float32)
    i, lane = cuda.grid(1), cuda.threadIdx.x
    partial[lane] = x[i] * y[i] if i < x.size else 0
    cuda.syncthreads()
    step = 64
    while step:
        if lane < step:
            partial[lane] += partial[lane + step]
        cuda.syncthreads()
        step //= 2
    if lane == 0:
        cuda.atomic.add(out, 0, partial[0])


x = np.arange(1000, dtype=np.float32) % 7
dx, out = cuda.to_device(x), cuda.to_device(np.zeros(1, np.float32))
start, end = cuda.event(), cuda.event()
start.record()
dot[8, 128](dx, dx, out)
end.record()
end.synchronize()
took = cuda.event_elapsed_time(start, end)
print(cuda.get_current_device().compute_capability == (8, 0), took > 0)
print(float(out.copy_to_host()[0]) == float(x @ x))
try:
    cuda.device_array(1 << 45, np.uint8)
except Exception as error:
    print("OUT_OF_MEMORY" in str(error))
