"""From a file, its launches and a GPU to a prediction.

build     how a source becomes code, and which of its code is executed
executed  launches executed and profiled, once for all GPUs that execute their code
cases     the launches of a workload on some GPUs   -> Case
recalled  what earlier processes found out about them
runs      one launch, ready to be executed for its trace
traced    launches that lie in trace files          -> Case
"""
