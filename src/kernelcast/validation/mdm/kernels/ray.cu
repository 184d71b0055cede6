/* kernelcast
width = 1024
height = 768

[[launch]]
kernel = "ray_trace"
grid = "width // 32, height // 8"
block = "32, 8"
[launch.args]
width = "width"
height = "height"
spheres = 16
bounces = 3
sphere = "f32[16, 4] random(1)"
shade = "f32[16] random(2)"
image = "f32[height, width]"
*/

// Spheres that mirror each other above a dark ground, a ray for each pixel.

struct Hit {
    int sphere;
    float distance;
};

// x, y, z and radius of a sphere within a box of 8 x 8 x 8 before the eye.
__device__ float4 placed(float4 s) {
    return make_float4(8.0f * s.x - 4.0f, 8.0f * s.y - 4.0f, 8.0f * s.z + 4.0f, 0.3f + s.w);
}

__device__ Hit nearest(int spheres, const float4* __restrict__ sphere, float3 o, float3 d) {
    Hit best = {-1, 1e30f};
    for (int k = 0; k < spheres; k++) {
        float4 s = placed(sphere[k]);
        float x = s.x - o.x, y = s.y - o.y, z = s.z - o.z;
        float along = x * d.x + y * d.y + z * d.z;
        float depth = s.w * s.w - (x * x + y * y + z * z - along * along);
        if (depth <= 0.0f) continue;
        float distance = along - sqrtf(depth);
        if (distance > 1e-3f && distance < best.distance) best = {k, distance};
    }
    return best;
}

extern "C" __global__ void ray_trace(int width, int height, int spheres, int bounces,
                                     const float4* __restrict__ sphere,
                                     const float* __restrict__ shade, float* __restrict__ image) {
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    float3 o = make_float3(0.0f, 0.0f, 0.0f);
    float3 d = make_float3((px - 0.5f * width) / height, (py - 0.5f * height) / height, 1.0f);
    float length = rsqrtf(d.x * d.x + d.y * d.y + 1.0f);
    d = make_float3(d.x * length, d.y * length, length);
    float light = 0.0f, share = 1.0f;
    for (int bounce = 0; bounce < bounces; bounce++) {
        Hit hit = nearest(spheres, sphere, o, d);
        if (hit.sphere < 0) {
            light += share * fmaxf(d.y, 0.0f);
            break;
        }
        float4 s = placed(sphere[hit.sphere]);
        o = make_float3(o.x + hit.distance * d.x, o.y + hit.distance * d.y,
                        o.z + hit.distance * d.z);
        float3 n = make_float3((o.x - s.x) / s.w, (o.y - s.y) / s.w, (o.z - s.z) / s.w);
        float turn = 2.0f * (n.x * d.x + n.y * d.y + n.z * d.z);
        d = make_float3(d.x - turn * n.x, d.y - turn * n.y, d.z - turn * n.z);
        light += share * shade[hit.sphere] * fmaxf(n.y, 0.0f);
        share *= 0.5f;
    }
    image[py * width + px] = light;
}
