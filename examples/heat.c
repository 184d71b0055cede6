/* Heat in a plate: steps of an explicit scheme, what is left to do, and sums along rows. */
#include <math.h>
#include <stdio.h>

void heat(int steps, int n, float a[restrict n][n], float b[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                b[i][j] = a[i][j] + 0.1f * (a[i - 1][j] + a[i + 1][j] + a[i][j - 1] +
                                            a[i][j + 1] - 4.0f * a[i][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                a[i][j] = b[i][j];
    }
}

float largest_change(int n, float a[restrict n][n], float b[restrict n][n])
{
    float most = 0.0f;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            most = fmaxf(most, fabsf(a[i][j] - b[i][j]));
    return most;
}

void running_sums(int n, float a[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 1; j < n; j++)
            a[i][j] += a[i][j - 1];
}

void report(int n, float a[restrict n][n])
{
    for (int i = 0; i < n; i++)
        printf("%f\n", a[i][i]);
}
