"""A run, timed: what every warp did, played through the issue logic and the pipes of an SM.

`plan` chooses SMs and blocks, and `recorder` executes them into `streams`; `code` and `hardware`
make tables of the kernel and of the machine, `simulate` plays all that by `loop`, and `results`
extrapolates. Of the loop, `choice` says which warp issues, `supply` and `dependences` whether it
can, `issue` and `pipes` what that takes, `memory`, with `banks`, `flights`, `stores` and `chip`,
what becomes of its requests, and `blocks`, `mbarriers` and `swaps` for whom it waits.
"""
