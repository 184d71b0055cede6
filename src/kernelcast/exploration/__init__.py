"""From one case to many: every occupancy, every intensity, every configuration of a chip.

occupancy_curve, cusp  a launch at every occupancy, Volkov's workload at every intensity
design_space, sweep    what is predicted of a chip whose numbers vary, and in which parts
executors, dask_workers, results_file  who computes the parts, and where they are kept
explore, parquet       all of it, what it tells, and a table of it
"""
