/* Statistics and reductions. */

#include <math.h>

void covariance(int m, int n, double data[restrict n][m], double cov[restrict m][m],
                double *restrict mean)
{
    double size = n;
    for (int j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (int i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= size;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            data[i][j] -= mean[j];
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) {
            cov[i][j] = 0.0;
            for (int k = 0; k < n; k++)
                cov[i][j] += data[k][i] * data[k][j];
            cov[i][j] /= (size - 1.0);
            cov[j][i] = cov[i][j];
        }
}

void correlation(int m, int n, double data[restrict n][m], double corr[restrict m][m],
                 double *restrict mean, double *restrict stddev)
{
    int i, j, k;
    double eps = 0.1;
    double size = n;
    for (j = 0; j < m; j++) {
        mean[j] = 0.0;
        for (i = 0; i < n; i++)
            mean[j] += data[i][j];
        mean[j] /= size;
    }
    for (j = 0; j < m; j++) {
        stddev[j] = 0.0;
        for (i = 0; i < n; i++)
            stddev[j] += (data[i][j] - mean[j]) * (data[i][j] - mean[j]);
        stddev[j] = sqrt(stddev[j] / size);
        stddev[j] = stddev[j] <= eps ? 1.0 : stddev[j];
    }
    for (i = 0; i < n; i++)
        for (j = 0; j < m; j++) {
            data[i][j] -= mean[j];
            data[i][j] /= sqrt(size) * stddev[j];
        }
    for (i = 0; i < m - 1; i++) {
        corr[i][i] = 1.0;
        for (j = i + 1; j < m; j++) {
            corr[i][j] = 0.0;
            for (k = 0; k < n; k++)
                corr[i][j] += (data[k][i] * data[k][j]);
            corr[j][i] = corr[i][j];
        }
    }
    corr[m - 1][m - 1] = 1.0;
}

float sum(int n, const float *x)
{
    float s = 0;
    for (int i = 0; i < n; i++)
        s += x[i];
    return s;
}

double dot(int n, const double *x, const double *y)
{
    double s = 1;
    for (int i = n - 1; i >= 0; i--)
        s = s + x[i] * y[i];
    return s;
}

float largest(int n, const float *x)
{
    float m = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] > m)
            m = x[i];
    return m;
}

int smallest(int n, int m, int x[n][m])
{
    int s = 1000;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s = x[i][j] < s ? x[i][j] : s;
    return s;
}

long long count_and_product(int n, const int *x, float *restrict product)
{
    long long many = 0;
    float p = 1.0f;
    for (int i = 0; i < n; i++) {
        if (x[i] % 3 == 0)
            many++;
        p *= 1.0f + 0.001f * x[i];
    }
    product[0] = p;
    return many;
}

void normalise(int n, float *x)
{
    float norm = 0.0f;
    for (int i = 0; i < n; i++)
        norm += x[i] * x[i];
    norm = sqrtf(norm);
    for (int i = 0; i < n; i++)
        x[i] = x[i] / norm;
}
