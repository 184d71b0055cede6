/* Linear algebra. */

void gemm(int ni, int nj, int nk, double alpha, double beta, double C[restrict ni][nj],
          double A[restrict ni][nk], double B[restrict nk][nj])
{
    int i, j, k;
    for (i = 0; i < ni; i++) {
        for (j = 0; j < nj; j++)
            C[i][j] *= beta;
        for (k = 0; k < nk; k++)
            for (j = 0; j < nj; j++)
                C[i][j] += alpha * A[i][k] * B[k][j];
    }
}

void gemm_linear(int n, int m, int k, const float *restrict A, const float *restrict B,
                 float *restrict C)
{
#pragma kernelcast parallel
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) {
            float s = 0.0f;
            for (int p = 0; p < k; p++)
                s += A[i * k + p] * B[p * m + j];
            C[i * m + j] = s;
        }
}

void two_mm(int ni, int nj, int nk, int nl, float alpha, float beta, float tmp[restrict ni][nj],
            float A[restrict ni][nk], float B[restrict nk][nj], float C[restrict nj][nl],
            float D[restrict ni][nl])
{
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nj; j++) {
            tmp[i][j] = 0.0f;
            for (int k = 0; k < nk; ++k)
                tmp[i][j] += alpha * A[i][k] * B[k][j];
        }
    for (int i = 0; i < ni; i++)
        for (int j = 0; j < nl; j++) {
            D[i][j] *= beta;
            for (int k = 0; k < nj; ++k)
                D[i][j] += tmp[i][k] * C[k][j];
        }
}

void atax(int m, int n, double A[restrict m][n], const double *restrict x, double *restrict y)
{
    double tmp[m];
    for (int i = 0; i < n; i++)
        y[i] = 0;
    for (int i = 0; i < m; i++) {
        tmp[i] = 0;
        for (int j = 0; j < n; j++)
            tmp[i] = tmp[i] + A[i][j] * x[j];
    }
    for (int i = 0; i < m; i++)
        for (int j = 0; j < n; j++)
            y[j] = y[j] + A[i][j] * tmp[i];
}

void bicg(int m, int n, float A[restrict n][m], float *restrict s, float *restrict q,
          const float *restrict p, const float *restrict r)
{
    for (int i = 0; i < m; i++)
        s[i] = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            s[j] = s[j] + r[i] * A[i][j];
    for (int i = 0; i < n; i++) {
        q[i] = 0;
        for (int j = 0; j < m; j++)
            q[i] = q[i] + A[i][j] * p[j];
    }
}

void mvt(int n, double *restrict x1, double *restrict x2, const double *restrict y1,
         const double *restrict y2, double A[restrict n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x1[i] = x1[i] + A[i][j] * y1[j];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            x2[i] = x2[i] + A[j][i] * y2[j];
}

void syrk(int n, int m, double alpha, double beta, double C[restrict n][n],
          double A[restrict n][m])
{
    int i, j, k;
    for (i = 0; i < n; i++) {
        for (j = 0; j <= i; j++)
            C[i][j] *= beta;
        for (k = 0; k < m; k++)
            for (j = 0; j <= i; j++)
                C[i][j] += alpha * A[i][k] * A[j][k];
    }
}

void gesummv(int n, float alpha, float beta, float A[restrict n][n], float B[restrict n][n],
             const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n; i++) {
        float a = 0, b = 0;
        for (int j = 0; j < n; j++) {
            a = A[i][j] * x[j] + a;
            b = B[i][j] * x[j] + b;
        }
        y[i] = alpha * a + beta * b;
    }
}

void floyd_warshall(int n, int paths[restrict n][n])
{
    for (int k = 0; k < n; k++)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                paths[i][j] = paths[i][j] < paths[i][k] + paths[k][j]
                                  ? paths[i][j]
                                  : paths[i][k] + paths[k][j];
}

void doitgen(int nr, int nq, int np, float A[restrict nr][nq][np], float C4[restrict np][np],
             float B[restrict nr][nq][np])
{
    for (int r = 0; r < nr; r++)
        for (int q = 0; q < nq; q++)
            for (int p = 0; p < np; p++) {
                float s = 0;
                for (int k = 0; k < np; k++)
                    s += A[r][q][k] * C4[k][p];
                B[r][q][p] = s;
            }
}
