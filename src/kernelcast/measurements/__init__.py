"""What was observed on real GPUs, and the readers of the files it is published in."""
