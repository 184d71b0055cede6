// ERROR(number, name in the runtime, name in the driver, what it means)
ERROR(0, cudaSuccess, CUDA_SUCCESS, "no error")
ERROR(1, cudaErrorInvalidValue, CUDA_ERROR_INVALID_VALUE, "an argument is out of range")
ERROR(2, cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY, "out of memory")
ERROR(3, cudaErrorInitializationError, CUDA_ERROR_NOT_INITIALIZED, "not initialized")
ERROR(9, cudaErrorInvalidConfiguration, CUDA_ERROR_INVALID_VALUE,
      "the device takes no such grid, block or shared memory")
ERROR(12, cudaErrorInvalidPitchValue, CUDA_ERROR_INVALID_VALUE, "a pitch is out of range")
ERROR(13, cudaErrorInvalidSymbol, CUDA_ERROR_NOT_FOUND, "no such variable of the device")
ERROR(21, cudaErrorInvalidMemcpyDirection, CUDA_ERROR_INVALID_VALUE, "no such direction of a copy")
ERROR(52, cudaErrorMissingConfiguration, CUDA_ERROR_INVALID_VALUE, "a launch without a configuration")
ERROR(98, cudaErrorInvalidDeviceFunction, CUDA_ERROR_NOT_FOUND, "no such kernel for this device")
ERROR(100, cudaErrorNoDevice, CUDA_ERROR_NO_DEVICE, "no device is there")
ERROR(101, cudaErrorInvalidDevice, CUDA_ERROR_INVALID_DEVICE, "no device has this number")
ERROR(200, cudaErrorInvalidKernelImage, CUDA_ERROR_INVALID_IMAGE, "the code cannot be read")
ERROR(201, cudaErrorDeviceUninitialized, CUDA_ERROR_INVALID_CONTEXT, "no context is there")
ERROR(209, cudaErrorNoKernelImageForDevice, CUDA_ERROR_NO_BINARY_FOR_GPU,
      "the program has no code for this device")
ERROR(217, cudaErrorPeerAccessUnsupported, CUDA_ERROR_PEER_ACCESS_UNSUPPORTED,
      "there is one device")
ERROR(218, cudaErrorInvalidPtx, CUDA_ERROR_INVALID_PTX, "the PTX cannot be assembled")
ERROR(221, cudaErrorJitCompilerNotFound, CUDA_ERROR_JIT_COMPILER_NOT_FOUND,
      "nothing is installed that assembles PTX")
ERROR(301, cudaErrorFileNotFound, CUDA_ERROR_FILE_NOT_FOUND, "a file cannot be read")
ERROR(400, cudaErrorInvalidResourceHandle, CUDA_ERROR_INVALID_HANDLE, "no such stream or event")
ERROR(500, cudaErrorSymbolNotFound, CUDA_ERROR_NOT_FOUND, "no such name")
ERROR(600, cudaErrorNotReady, CUDA_ERROR_NOT_READY, "not done yet")
ERROR(700, cudaErrorIllegalAddress, CUDA_ERROR_ILLEGAL_ADDRESS,
      "a kernel accessed memory that is not allocated")
ERROR(701, cudaErrorLaunchOutOfResources, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
      "a block of the launch does not fit on an SM")
ERROR(702, cudaErrorLaunchTimeout, CUDA_ERROR_LAUNCH_TIMEOUT, "a kernel ran for too long")
ERROR(710, cudaErrorAssert, CUDA_ERROR_ASSERT, "an assertion of a kernel failed")
ERROR(712, cudaErrorHostMemoryAlreadyRegistered, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED,
      "this memory of the host is registered already")
ERROR(713, cudaErrorHostMemoryNotRegistered, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED,
      "this memory of the host is not registered")
ERROR(710, cudaErrorAssert, CUDA_ERROR_ASSERT, "an assertion failed on the device")
ERROR(716, cudaErrorMisalignedAddress, CUDA_ERROR_MISALIGNED_ADDRESS,
      "a kernel accessed a misaligned address")
ERROR(719, cudaErrorLaunchFailure, CUDA_ERROR_LAUNCH_FAILED, "a kernel failed")
ERROR(720, cudaErrorCooperativeLaunchTooLarge, CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
      "the device does not hold all blocks of a cooperative launch at once")
ERROR(801, cudaErrorNotSupported, CUDA_ERROR_NOT_SUPPORTED,
      "not supported by the virtual device")
ERROR(900, cudaErrorStreamCaptureUnsupported, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
      "streams cannot be captured")
ERROR(910, cudaErrorGraphExecUpdateFailure, CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE,
      "a graph can only do what is built alike")
ERROR(999, cudaErrorUnknown, CUDA_ERROR_UNKNOWN, "an unknown error")
