"""What a CUDA C++ source says: its tokens, its declarations, what of it runs on the device."""
