// A program that includes helpers of NVIDIA's samples, which do not lie beside it.
#include <helper_cuda.h>
#include <helper_functions.h>

__global__ void scale(float* x, float factor) { x[threadIdx.x] *= factor; }

int main(int argc, char** argv) {
    const char** words = const_cast<const char**>(argv);
    findCudaDevice(argc, words);
    const float factor = checkCmdLineFlag(argc, words, "factor")
                             ? getCmdLineArgumentFloat(argc, words, "factor")
                             : 1.0f;
    char* name = nullptr;
    getCmdLineArgumentString(argc, words, "name", &name);
    StopWatchInterface* timer = nullptr;
    sdkCreateTimer(&timer);
    sdkStartTimer(&timer);
    float x[32], wanted[32], *device;
    for (int i = 0; i < 32; ++i) {
        x[i] = i;
        wanted[i] = factor * i;
    }
    checkCudaErrors(cudaMalloc(&device, sizeof x));
    checkCudaErrors(cudaMemcpy(device, x, sizeof x, cudaMemcpyHostToDevice));
    scale<<<1, 32>>>(device, factor);
    getLastCudaError("scale");
    checkCudaErrors(cudaMemcpy(x, device, sizeof x, cudaMemcpyDeviceToHost));
    sdkStopTimer(&timer);
    printf("%s: %s, timed %d, file %s\n", name ? name : "nobody",
           compareData(wanted, x, 32, 1e-6f, 0.0f) && sdkCompareL2fe(wanted, x, 32, 1e-6f) ? "right"
                                                                                           : "wrong",
           sdkGetTimerValue(&timer) > 0, sdkFindFilePath("nowhere.bin", argv[0]) ? "there" : "gone");
    sdkDeleteTimer(&timer);
    checkCudaErrors(cudaSetDevice(7));
}
