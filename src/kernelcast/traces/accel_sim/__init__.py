"""Trace files of Accel-Sim (Khairy et al., ISCA 2020), which its NVBit tracer makes on a GPU.

A launch is a text file: lines `-key = value`, then every block between `#BEGIN_TB` and `#END_TB`,
warp by warp, a line for every instruction of a warp. `kernelslist.g` lists the launches of a
program in order, with the copies to the device before them. What the lines mean was read from
accel-sim/accel-sim-framework: `util/tracer_nvbit/tracer_tool`, `gpu-simulator/trace-parser`,
`gpu-simulator/trace-driven`.
"""
