// With 12 KiB more an SM of 164 KiB (8.0), and with 36 KiB one of 96 or 100 KiB (7.0, 8.6), has
// room for two blocks; with 50 KiB more, for one.
#if __CUDA_ARCH__ == 800
#define RESERVED_BYTES (44 << 10)
#else
#define RESERVED_BYTES (24 << 10)
#endif
