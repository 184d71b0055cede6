// Host code includes this; kernels take nothing of it.
