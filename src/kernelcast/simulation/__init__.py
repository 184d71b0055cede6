"""A run, timed: what every warp did, played through the issue logic and the pipes of an SM."""
