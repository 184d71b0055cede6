"""Memory that is made, and mapped to addresses reserved before."""

import ctypes as c
import sys

GRANULARITY = 2 << 20
cuda = c.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        sys.exit(f"{name} answers {status}")


class Properties(c.Structure):
    _fields_ = [("type", c.c_int), ("kind", c.c_int), ("place", c.c_int * 2), ("rest", c.c_int * 4)]


size, address, handle, context = c.c_size_t(), c.c_uint64(), c.c_uint64(), c.c_void_p()
on_device = Properties(1, 0, (1, 0))
call("cuInit", 0)
call("cuCtxCreate_v2", c.byref(context), 0, 0)
call("cuMemGetAllocationGranularity", c.byref(size), c.byref(on_device), 0)
assert size.value == GRANULARITY
room = c.c_size_t(100_000 * GRANULARITY)
call("cuMemAddressReserve", c.byref(address), room, c.c_size_t(0), c.c_uint64(0), c.c_uint64(0))
create, map_memory = cuda.cuMemCreate, cuda.cuMemMap
call("cuMemCreate", c.byref(handle), size, c.byref(on_device), c.c_uint64(0))
place = c.c_uint64(address.value + 3 * GRANULARITY)
call("cuMemMap", place, size, c.c_size_t(0), handle, c.c_uint64(0))
call("cuMemSetAccess", place, size, None, c.c_size_t(0))
call("cuMemsetD32_v2", place, c.c_uint(7), c.c_size_t(GRANULARITY // 4))
held = (c.c_uint * 2)()
call("cuMemcpyDtoH_v2", held, c.c_uint64(place.value + GRANULARITY - 8), c.c_size_t(8))
more = create(c.byref(c.c_uint64()), room, c.byref(on_device), c.c_uint64(0))
elsewhere = map_memory(address, size, c.c_size_t(0), handle, c.c_uint64(0))
print(f"{held[0]} {held[1]}, more than there is: {more}, elsewhere: {elsewhere}")
call("cuMemUnmap", place, size)
call("cuMemRelease", handle)
call("cuMemAddressFree", address, room)
