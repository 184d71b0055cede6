"""What goes wrong in kernels that end all the same: found in the accesses of every warp.

layout      what the loop reads and writes
tables      what it must know of the code
loop        the records of a run, one by one
same_values stores that write the same, whoever makes them
written     which bytes of device memory hold something
misuses     what was found, with kernel, line and threads
checker     the consumer that puts them together
checked     a launch, executed and checked
"""
