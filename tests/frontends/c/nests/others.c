/* What is neither algebra nor a stencil. */

#include <math.h>

#define EPS2 0.01f

void transpose(int n, int m, const float *restrict in, float *restrict out)
{
    for (int y = 0; y < n; ++y)
        for (int x = 0; x < m; ++x)
            out[x * n + y] = in[y * m + x];
}

#pragma omp declare simd
static float scaled(float a, float x)
{
    return a * x;
}

void saxpy(int n, float a, const float *x, float *y)
{
#pragma omp parallel for
    for (int i = 0; i < n; i++)
        y[i] = scaled(a, x[i]) + y[i];
}

void saxpy_strided(int n, float a, const float *restrict x, float *restrict y)
{
    for (int i = n - 1; i > 0; i -= 3)
        y[i] += a * x[i];
}

void nbody(int n, float dt, const float *restrict x, const float *restrict y,
           const float *restrict m, float *restrict vx, float *restrict vy)
{
    for (int i = 0; i < n; i++) {
        float ax = 0.0f, ay = 0.0f;
        for (int j = 0; j < n; j++) {
            float dx = x[j] - x[i], dy = y[j] - y[i];
            float d2 = dx * dx + dy * dy + EPS2;
            float inverse = 1.0f / sqrtf(d2 * d2 * d2);
            ax += m[j] * dx * inverse;
            ay += m[j] * dy * inverse;
        }
        vx[i] += dt * ax;
        vy[i] += dt * ay;
    }
}

void mandelbrot(int width, int height, int most, int *iterations)
{
    for (int py = 0; py < height; py++) {
        for (int px = 0; px < width; px++) {
            double x0 = 3.5 * px / width - 2.5, y0 = 2.0 * py / height - 1.0;
            double x = 0, y = 0;
            int count = 0;
            while (x * x + y * y <= 4.0 && count < most) {
                double next = x * x - y * y + x0;
                y = 2 * x * y + y0;
                x = next;
                count++;
            }
            iterations[py * width + px] = count;
        }
    }
}

int table[96][100];
int offset = 5;

void fill_table(void)
{
    for (int i = 0; i < 96; i++)
        for (int j = 0; j < 100; j++)
            table[i][j] = 3 * i - j + offset;
}

void red_black(int n, float *a)
{
    for (int i = 0; i < n; i++)
        a[2 * i] = a[2 * i + 1] * 0.5f;
}

void halves(int n, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i / 2] + x[i % 7];
}

void butterfly(int n, float *a)
{
    for (int i = 0; i < n; i++) {
        float u = a[i], v = a[i + n];
        a[i] = u + v;
        a[i + n] = u - v;
    }
}

void downwards(int n, float *restrict x)
{
    for (unsigned i = n; i >= 5; i -= 5)
        x[i - 5] = i;
}

void narrow(short n, float *restrict x)
{
    for (short i = 0; i < n; i++)
        x[i] = i;
}

float sum_downwards(int n, const float *x)
{
    float s = 0.0f;
    for (unsigned i = n; i > 0; i--)
        s += x[i - 1];
    return s;
}

void gather(int n, int m, const int at[restrict n], const float x[restrict m], float y[restrict n])
{
    for (int i = 0; i < n; i++)
        y[i] = x[at[i]];
}

void spmv(int n, int m, int most, const int row[restrict n + 1], const int column[restrict most],
          const double value[restrict most], const double x[restrict m], double y[restrict n])
{
    for (int i = 0; i < n; i++) {
        double sum = 0.0;
        for (int j = row[i]; j < row[i + 1]; j++)
            sum += value[j] * x[column[j]];
        y[i] = sum;
    }
}
