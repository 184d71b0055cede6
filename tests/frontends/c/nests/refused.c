/* Nothing here becomes a kernel, but one. */

#include <stdio.h>
#include "not_there.h"

void seidel_2d(int steps, int n, double A[n][n])
{
    for (int t = 0; t <= steps - 1; t++)
        for (int i = 1; i <= n - 2; i++)
            for (int j = 1; j <= n - 2; j++)
                A[i][j] = (A[i - 1][j - 1] + A[i - 1][j] + A[i - 1][j + 1] + A[i][j - 1] +
                           A[i][j] + A[i][j + 1] + A[i + 1][j - 1] + A[i + 1][j] +
                           A[i + 1][j + 1]) / 9.0;
}

void scan(int n, const float *restrict x, float *restrict y)
{
    y[0] = x[0];
    for (int i = 1; i < n; i++)
        y[i] = y[i - 1] + x[i];
}

void histogram(int n, const int *restrict x, int *restrict bins)
{
    for (int i = 0; i < n; i++)
        bins[x[i]]++;
}

void overlapping(int n, float *x, float *y)
{
    for (int i = 0; i < n; i++)
        y[i] = x[i];
}

void not_affine(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x[i * j] = 1.0f;
}

void unbounded(float *restrict x)
{
    int i = 0;
    while (x[i] > 0.0f)
        x[i++] = 0.0f;
}

void endless(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        for (;;)
            x[i] += 1.0f;
}

void calls(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        printf("%f\n", x[i]);
}

static int factorial(int n)
{
    return n < 2 ? 1 : n * factorial(n - 1);
}

void recursive(int n, int *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] = factorial(i);
}

void stopped(int n, float *restrict x)
{
    for (int i = 0; i < n; i++) {
        if (x[i] < 0.0f)
            break;
        x[i] = 0.0f;
    }
}

void undeclared(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] = NOT_THERE;
}

void carried_scalar(int n, const float *restrict x, float *restrict y)
{
    float last = 0.0f;
    for (int i = 0; i < n; i++) {
        y[i] = last;
        last = x[i];
    }
}

void moved(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        *x++ = 0.0f;
}

void broken(int n, float *restrict x)
{
    for (int i = 0; i < n; i++
        x[i] = 1.0f;
}

void good(int n, float *restrict x)
{
    for (int i = 0; i < n; i++)
        x[i] = 1.0f;
}
