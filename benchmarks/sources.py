"""How long leaving out host code and reading launches takes, on top of the compiler."""

from __future__ import annotations

import time
from collections.abc import Iterator

from benchmarks.measured import Measured, median_seconds
from kernelcast.frontends.source.device_source import device_source, read_source
from kernelcast.frontends.source.header_folders import NO_FOLDERS
from kernelcast.frontends.source.source_launches import source_launches

LINES = 2000
PROGRAM = """\
#define CHECK{0}(call) do {{ if ((call) != cudaSuccess) exit(1); }} while (0)
struct Params{0} {{ int n; float* p; __host__ __device__ int twice() const {{ return 2 * n; }} }};
static std::vector<float> table{0}(100);
__device__ float helper{0}(float x, int i) {{ return x * i + 1.0f; }}
template <typename T, int N> __global__ void kernel{0}(T* out, const T* in, Params{0} p) {{
  __shared__ T tile[N];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = i < p.twice() ? in[i] : T(0);
  __syncthreads();
  if (i < p.n) out[i] = helper{0}(tile[N - 1 - threadIdx.x], i);
}}
void run{0}(int n, int repeat) {{
  std::vector<float> host(n);
  float *in, *out;
  CHECK{0}(cudaMalloc((void**)&in, n * sizeof(float)));
  CHECK{0}(cudaMalloc((void**)&out, n * sizeof(float)));
  dim3 grid((n + 255) / 256), block(256);
  Params{0} p = {{n, in}};
  kernel{0}<float, 256><<<grid, block>>>(out, in, p);
  printf("%f\\n", host[0]);
}}
"""


def program() -> str:
    each = PROGRAM.count("\n")
    return "".join(PROGRAM.format(number) for number in range(LINES // each))


def measure() -> Iterator[Measured]:
    text = program()

    def leave_out() -> None:
        view, declarations = read_source(text, "app.cu", NO_FOLDERS, "sm_90", (13, 0))
        source_launches(view, declarations)
        device_source(view, declarations, NO_FOLDERS)

    seconds = median_seconds(leave_out, 9, time.process_time)
    yield Measured("host code and launches of a source of 2000 lines", seconds, "s", 0.2, True)
