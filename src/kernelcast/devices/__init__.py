"""A GPU that is not there: programs run on it, and every launch is forecast.

memory      what kernels may access, shared with the program
code        modules that a program loads, for every GPU asked for
clock       streams and events, in forecast time
forecasts   what a launch would take, sampled where that is new
device      what a program asks for, done
server      a program and its connections
shim        the libraries that the program loads in place of the vendor's (C), and how they are made
"""
