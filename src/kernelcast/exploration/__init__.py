"""From one case to many: a launch at every occupancy, a workload at every intensity."""
