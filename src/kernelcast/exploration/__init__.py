"""From one case to many: every occupancy, every intensity, every clock, every configuration.

occupancy_curve, cusp     a launch at every occupancy, Volkov's workload at every intensity
dvfs                      a launch at every clock
what_if, gains            a launch without each of its bottlenecks
design_space, sweep       what is predicted of a chip whose numbers vary, and in which parts
executors, dask_workers   who computes the parts
results_file, parquet     where they are kept
explore, explored         all of it, and what it tells
"""
