"""The driver's API by its numbers: an array and one of two levels in textures, read by kernels out
of PTX."""

import ctypes as c
import sys

PTX = b"""
.version 7.0
.target sm_75
.address_size 64
.visible .entry read(.param .u64 texture, .param .u64 out) {
  .reg .b64 %rd<6>; .reg .b32 %r<3>; .reg .f32 %f<6>;
  ld.param.u64 %rd1, [texture];
  ld.param.u64 %rd2, [out];
  mov.u32 %r1, %tid.x;
  cvt.rn.f32.u32 %f5, %r1;
  tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f5}];
  mul.wide.u32 %rd3, %r1, 4;
  add.u64 %rd4, %rd2, %rd3;
  st.global.f32 [%rd4], %f1;
  ret;
}
.visible .entry below(.param .u64 texture, .param .u64 out) {
  .reg .b64 %rd<3>; .reg .f32 %f<6>;
  ld.param.u64 %rd1, [texture];
  ld.param.u64 %rd2, [out];
  mov.f32 %f5, 0f3F800000;
  tex.level.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f5, %f5}], %f5;
  st.global.f32 [%rd2], %f1;
  ret;
}
"""
WIDTH, HEIGHT = 8, 4
cuda = c.CDLL("libcuda.so.1")


def call(name, *arguments):
    status = getattr(cuda, name)(*arguments)
    if status:
        sys.exit(f"{name} answers {status}")


class Shape(c.Structure):
    _fields_ = [("width", c.c_size_t), ("rows", c.c_size_t), ("format", c.c_uint), ("n", c.c_uint)]


class Shape3d(c.Structure):
    _fields_ = [
        ("width", c.c_size_t),
        ("rows", c.c_size_t),
        ("depth", c.c_size_t),
        ("format", c.c_uint),
        ("n", c.c_uint),
        ("flags", c.c_uint),
    ]


class Side(c.Structure):
    _fields_ = [
        ("x", c.c_size_t),
        ("y", c.c_size_t),
        ("type", c.c_uint),
        ("host", c.c_void_p),
        ("device", c.c_uint64),
        ("array", c.c_void_p),
        ("pitch", c.c_size_t),
    ]


class Copy(c.Structure):
    _fields_ = [("source", Side), ("to", Side), ("width", c.c_size_t), ("rows", c.c_size_t)]


class Resource(c.Structure):
    _fields_ = [("type", c.c_uint), ("array", c.c_void_p), ("rest", c.c_int * 30), ("f", c.c_uint)]


context, module, kernel = c.c_void_p(), c.c_void_p(), c.c_void_p()
array, texture, out = c.c_void_p(), c.c_uint64(), c.c_uint64()
call("cuInit", 0)
call("cuCtxCreate_v2", c.byref(context), 0, 0)
call("cuModuleLoadData", c.byref(module), PTX)
call("cuModuleGetFunction", c.byref(kernel), module, b"read")
call("cuArrayCreate_v2", c.byref(array), c.byref(Shape(WIDTH, HEIGHT, 0x09, 1)))  # 16 bits, signed
held = (c.c_int16 * (WIDTH * HEIGHT))(*(-100 * n for n in range(WIDTH * HEIGHT)))
copy = Copy(
    Side(type=1, host=c.addressof(held), pitch=2 * WIDTH),
    Side(type=3, array=array.value),
    2 * WIDTH,
    HEIGHT,
)
call("cuMemcpy2D_v2", c.byref(copy))
reading = (c.c_int * 32)(1, 1, 1)  # clamped; numbers are read as -1 to 1
call("cuTexObjectCreate", c.byref(texture), c.byref(Resource(0, array.value)), reading, None)
call("cuMemAlloc_v2", c.byref(out), 4 * WIDTH)
given = (c.c_void_p * 2)(c.addressof(texture), c.addressof(out))
call("cuLaunchKernel", kernel, 1, 1, 1, WIDTH, 1, 1, 0, None, given, None)
found = (c.c_float * WIDTH)()
call("cuMemcpyDtoH_v2", found, out, 4 * WIDTH)
wanted = [held[min(n, HEIGHT - 1) * WIDTH + n] / 32767 for n in range(WIDTH)]
wrong = sum(abs(a - b) > 1e-6 for a, b in zip(found, wanted, strict=True))
call("cuTexObjectDestroy", texture)
call("cuArrayDestroy", array)

levels, level = c.c_void_p(), c.c_void_p()
shape = Shape3d(WIDTH, HEIGHT, 0, 0x20, 1, 0)  # floats
call("cuMipmappedArrayCreate", c.byref(levels), c.byref(shape), 2)
call("cuMipmappedArrayGetLevel", c.byref(level), levels, 1)
smaller = (c.c_float * (WIDTH * HEIGHT // 4))(*([7.0] * (WIDTH * HEIGHT // 4)))
copy = Copy(
    Side(type=1, host=c.addressof(smaller), pitch=2 * WIDTH),
    Side(type=3, array=level.value),
    2 * WIDTH,
    HEIGHT // 2,
)
call("cuMemcpy2D_v2", c.byref(copy))
reading = (c.c_uint * 32)(1, 1, 1, 0, 2, 0, 0, 0, 0, 0x3F800000)  # normalized; levels 0 to 1
call("cuTexObjectCreate", c.byref(texture), c.byref(Resource(1, levels.value)), reading, None)
call("cuModuleGetFunction", c.byref(kernel), module, b"below")
call("cuLaunchKernel", kernel, 1, 1, 1, 1, 1, 1, 0, None, given, None)
call("cuMemcpyDtoH_v2", found, out, 4)
wrong += found[0] != 7
call("cuMipmappedArrayDestroy", levels)
print(wrong, "wrong")
