"""Launches that a folder describes, by the driver's API: arrays are its files, and written anew."""

import ctypes as c
import json
import sys
from pathlib import Path

cuda = c.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        sys.exit(f"{name} answers {status}")


def on_device(data):
    address = c.c_uint64()
    call("cuMemAlloc_v2", c.byref(address), c.c_size_t(len(data)))
    call("cuMemcpyHtoD_v2", address, data, c.c_size_t(len(data)))
    return address


def launch(folder, cubin, kernel, grid, block, smem, parameters, arrays):
    module, function, context = c.c_void_p(), c.c_void_p(), c.c_void_p()
    call("cuCtxGetCurrent", c.byref(context))
    call("cuModuleLoadData", c.byref(module), (folder / cubin).read_bytes())
    call("cuModuleGetFunction", c.byref(function), module, kernel.encode())
    placed = {name: on_device((folder / name).read_bytes()) for name in arrays}
    values = []
    for parameter in parameters:
        value = bytearray.fromhex(parameter["bytes"])
        for at, name in parameter["pointers"].items():
            value[int(at) : int(at) + 8] = placed[name].value.to_bytes(8, "little")
        values.append(c.create_string_buffer(bytes(value), len(value)))
    pointers = (c.c_void_p * max(len(values), 1))(*map(c.addressof, values))
    call("cuLaunchKernel", function, *grid, *block, smem, None, pointers, None)
    for name, address in placed.items():
        size = (folder / name).stat().st_size
        held = c.create_string_buffer(size)
        call("cuMemcpyDtoH_v2", held, address, c.c_size_t(size))
        (folder / name).write_bytes(held.raw)
        call("cuMemFree_v2", address)


device, context = c.c_int(), c.c_void_p()
call("cuInit", 0)
call("cuDevicePrimaryCtxRetain", c.byref(context), 0)
call("cuCtxSetCurrent", context)
folder = Path(sys.argv[1])
for described in json.loads((folder / "launches.json").read_text()):
    launch(folder, **described)
    print("done")
