/* Stencils and convolutions. */

#define PIXEL(x, y) in[(y) * width + (x)]

void jacobi_1d(int steps, int n, double *restrict A, double *restrict B)
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            B[i] = 0.33333 * (A[i - 1] + A[i] + A[i + 1]);
        for (int i = 1; i < n - 1; i++)
            A[i] = 0.33333 * (B[i - 1] + B[i] + B[i + 1]);
    }
}

void jacobi_2d(int steps, int n, float A[restrict n][n], float B[restrict n][n])
{
    for (int t = 0; t < steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                B[i][j] = 0.2f * (A[i][j] + A[i][j - 1] + A[i][1 + j] + A[1 + i][j] + A[i - 1][j]);
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                A[i][j] = 0.2f * (B[i][j] + B[i][j - 1] + B[i][1 + j] + B[1 + i][j] + B[i - 1][j]);
    }
}

void fdtd_2d(int steps, int nx, int ny, float ex[restrict nx][ny], float ey[restrict nx][ny],
             float hz[restrict nx][ny], const float *restrict fict)
{
    int t, i, j;
    for (t = 0; t < steps; t++) {
        for (j = 0; j < ny; j++)
            ey[0][j] = fict[t];
        for (i = 1; i < nx; i++)
            for (j = 0; j < ny; j++)
                ey[i][j] = ey[i][j] - 0.5f * (hz[i][j] - hz[i - 1][j]);
        for (i = 0; i < nx; i++)
            for (j = 1; j < ny; j++)
                ex[i][j] = ex[i][j] - 0.5f * (hz[i][j] - hz[i][j - 1]);
        for (i = 0; i < nx - 1; i++)
            for (j = 0; j < ny - 1; j++)
                hz[i][j] = hz[i][j] - 0.7f * (ex[i][j + 1] - ex[i][j] + ey[i + 1][j] - ey[i][j]);
    }
}

void heat_3d(int steps, int n, double A[restrict n][n][n], double B[restrict n][n][n])
{
    for (int t = 1; t <= steps; t++) {
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    B[i][j][k] = 0.125 * (A[i + 1][j][k] - 2.0 * A[i][j][k] + A[i - 1][j][k]) +
                                 0.125 * (A[i][j + 1][k] - 2.0 * A[i][j][k] + A[i][j - 1][k]) +
                                 0.125 * (A[i][j][k + 1] - 2.0 * A[i][j][k] + A[i][j][k - 1]) +
                                 A[i][j][k];
        for (int i = 1; i < n - 1; i++)
            for (int j = 1; j < n - 1; j++)
                for (int k = 1; k < n - 1; k++)
                    A[i][j][k] = B[i][j][k];
    }
}

void convolution_2d(int width, int height, const float *restrict in, const float *restrict filter,
                    float *restrict out)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            float sum = 0.0f;
            for (int dy = -2; dy <= 2; dy++)
                for (int dx = -2; dx <= 2; dx++) {
                    int px = x + dx, py = y + dy;
                    if (px >= 0 && px < width && py >= 0 && py < height)
                        sum += PIXEL(px, py) * filter[(dy + 2) * 5 + dx + 2];
                }
            out[y * width + x] = sum;
        }
}

void convolution_3d(int ni, int nj, int nk, const float *restrict A, float *restrict B)
{
    static const float c[3] = {0.2f, -0.3f, 0.4f};
    for (int i = 1; i < ni - 1; ++i)
        for (int j = 1; j < nj - 1; ++j)
            for (int k = 1; k < nk - 1; ++k)
                B[i * nk * nj + j * nk + k] =
                    0.2f * A[(i - 1) * (nk * nj) + (j - 1) * nk + (k - 1)] +
                    0.5f * A[(i + 0) * (nk * nj) + (j + 1) * nk + (k + 0)] -
                    0.8f * A[(i + 1) * (nk * nj) + (j - 1) * nk + (k + 1)];
}

void image_filter(int width, int height, const unsigned char *restrict in,
                  unsigned char *restrict out)
{
    for (int y = 1; y < height - 1; y += 1)
        for (int x = 3; x < (width - 1) * 3; x += 3) {
            int red = 0, green = 0;
            for (int fy = -1; fy < 2; fy++) {
                const unsigned char *row = in + (y + fy) * width * 3;
                red += row[x + 0];
                green += row[x + 1];
            }
            out[y * width * 3 + x] = red / 3;
            out[y * width * 3 + x + 1] = green / 3;
        }
}
