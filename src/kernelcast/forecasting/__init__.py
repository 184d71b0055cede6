"""From a file, its launches and a GPU to a prediction.

build     how a source becomes code, and which of its code is executed
cases     the launches of a workload on some GPUs   -> Case
recording one launch, ready to be executed for its trace
"""
