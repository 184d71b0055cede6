"""A vector addition in Triton, on memory of the driver's own API."""

import numpy as np
import triton
import triton.language as tl
from cuda.bindings import driver


@triton.jit
def add(x, y, out, n, block: tl.constexpr):
    i = tl.program_id(0) * block + tl.arange(0, block)
    inside = i < n
    tl.store(out + i, tl.load(x + i, inside) + tl.load(y + i, inside), inside)


def made(answer):
    assert answer[0] == driver.CUresult.CUDA_SUCCESS, answer
    return answer[1] if len(answer) > 1 else None


class Buffer:
    """What Triton asks of a tensor."""

    dtype = "fp32"

    def __init__(self, values):
        self.values = values
        self.address = int(made(driver.cuMemAlloc(values.nbytes)))
        made(driver.cuMemcpyHtoD(self.address, values.ctypes.data, values.nbytes))

    def data_ptr(self):
        return self.address

    def read(self):
        made(driver.cuMemcpyDtoH(self.values.ctypes.data, self.address, self.values.nbytes))
        return self.values


made(driver.cuInit(0))
made(driver.cuCtxSetCurrent(made(driver.cuDevicePrimaryCtxRetain(0))))
n = 5000
x, y = Buffer(np.arange(n, dtype=np.float32)), Buffer(np.ones(n, np.float32))
out = Buffer(np.zeros(n, np.float32))
add[(triton.cdiv(n, 256),)](x, y, out, n, block=256)
print(np.array_equal(out.read(), np.arange(n) + 1))
