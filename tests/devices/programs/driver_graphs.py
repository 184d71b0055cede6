"""The driver's API by its numbers: a graph captured from a stream, one built node by node, launches
as the first versions had them, and what is there but not supported."""

import ctypes as c
import sys

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry add(.param .u64 out, .param .u32 n) {
  .reg .b64 %rd<3>; .reg .b32 %r<4>;
  ld.param.u64 %rd1, [out];
  ld.param.u32 %r1, [n];
  mov.u32 %r2, %tid.x;
  mul.wide.u32 %rd2, %r2, 4;
  add.u64 %rd1, %rd1, %rd2;
  ld.global.u32 %r3, [%rd1];
  add.u32 %r3, %r3, %r1;
  st.global.u32 [%rd1], %r3;
  ret;
}
"""
N = 32
cuda = c.CDLL("libcuda.so.1")
HostFunction = c.CFUNCTYPE(None, c.c_void_p)


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        sys.exit(f"{name} answers {status}")


def new(name, *arguments, kind=c.c_void_p):
    made = kind()
    call(name, c.byref(made), *arguments)
    return made


def parameters(address, number):
    values = c.c_uint64(address.value), c.c_uint32(number)
    return (c.c_void_p * 2)(*map(c.addressof, values)), values


def read(address):
    held = (c.c_int * N)()
    call("cuMemcpyDtoH_v2", held, address, c.c_size_t(4 * N))
    return sorted(set(held))


class Fill(c.Structure):
    _fields_ = [
        *((name, c.c_uint64) for name in ("to", "pitch")),
        *((name, c.c_uint32) for name in ("value", "value_bytes")),
        *((name, c.c_size_t) for name in ("width", "rows")),
    ]


class Kernel(c.Structure):
    _fields_ = [
        ("function", c.c_void_p),
        ("grid", c.c_uint * 3),
        ("block", c.c_uint * 3),
        ("shared", c.c_uint),
        *((name, c.c_void_p) for name in ("arguments", "extra", "kernel", "context")),
    ]


call("cuInit", 0)
context = new("cuDevicePrimaryCtxRetain", 0)
call("cuCtxSetCurrent", context)
for _ in range(40):
    made = new("cuCtxCreate_v2", 0, 0)
    call("cuCtxPopCurrent_v2", None)
    call("cuCtxPushCurrent_v2", made)
    call("cuCtxDetach", made)  # the last to let go of it
call("cuCtxPopCurrent_v2", None)
print("no context", cuda.cuCtxPopCurrent_v2(None))
call("cuCtxSetCurrent", context)
module = c.c_void_p()
log = c.create_string_buffer(b"what was there before")
logs = (c.c_int * 1)(5), (c.c_void_p * 1)(c.addressof(log))
call("cuModuleLoadDataEx", c.byref(module), PTX, 1, *logs)
print("errors", log.value)
function = new("cuModuleGetFunction", module, b"add")
array = new("cuMemAlloc_v2", c.c_size_t(4 * N), kind=c.c_uint64)
stream = new("cuStreamCreate", 0)

calls = []
count = HostFunction(lambda _: calls.append(1))
call("cuStreamBeginCapture_v2", stream, 0)
status = c.c_int()
call("cuStreamIsCapturing", stream, c.byref(status))
call("cuMemsetD32Async", array, 0, c.c_size_t(N), stream)
for number in (1, 2, 3):
    pointers, kept = parameters(array, number)
    call("cuLaunchKernel", function, 1, 1, 1, N, 1, 1, 0, stream, pointers, None)
call("cuLaunchHostFunc", stream, count, None)
graph = c.c_void_p()
call("cuStreamEndCapture", stream, c.byref(graph))
print("captured", status.value, len(calls))
ready = new("cuGraphInstantiateWithFlags", graph, c.c_uint64(0))
for _ in range(5):
    call("cuGraphLaunch", ready, stream)
call("cuStreamSynchronize", stream)
print("replayed", read(array), len(calls))

graph = new("cuGraphCreate", 0)
filled = new(
    "cuGraphAddMemsetNode",
    graph,
    None,
    c.c_size_t(0),
    c.byref(Fill(array.value, 0, 7, 4, N, 1)),
    None,
)
pointers, kept = parameters(array, 10)
node = Kernel(function.value, (1, 1, 1), (N, 1, 1), 0, c.addressof(pointers), None, None, None)
added = new("cuGraphAddKernelNode_v2", graph, c.byref(filled), c.c_size_t(1), c.byref(node))
ready = new("cuGraphInstantiateWithFlags", graph, c.c_uint64(0))
call("cuGraphLaunch", ready, stream)
print("built", read(array))
changed, kept = parameters(array, 20)
node.arguments = c.addressof(changed)
call("cuGraphExecKernelNodeSetParams_v2", ready, added, c.byref(node))
call("cuGraphLaunch", ready, stream)
print("changed", read(array))
call("cuGraphExecDestroy", ready)
call("cuGraphDestroy", graph)

call("cuFuncSetBlockShape", function, N, 1, 1)
call("cuParamSetv", function, 0, c.byref(array), 8)
call("cuParamSeti", function, 8, 100)
call("cuParamSetSize", function, 12)
call("cuLaunchGrid", function, 1, 1)
other = new("cuMemAlloc_v2", c.c_size_t(4 * N), kind=c.c_uint64)
call("cuMemcpyPeer", other, context, array, context, c.c_size_t(4 * N))
print("launched", read(other))

found = c.c_void_p()
missing = cuda.cuGetProcAddress_v2(b"cuGreenCtxCreate", c.byref(found), 13000, c.c_uint64(0), None)
print("not supported", cuda.cuGreenCtxCreate(None), missing, found.value)
