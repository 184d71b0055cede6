// The experiments of chapter 7 as the thesis has them: sequential loops. The functions of Listing
// 3.4 are without a sign, as products of numbers with one may overflow.
#define FOUR(once) once once once once
#define SIXTY_FOUR(once) FOUR(FOUR(FOUR(once)))
#define RADIUS 2

// Listing 3.4, in a loop over the threads that is wrapped around it.
void mul(int n, int times, unsigned *restrict result) {
    for (int i = 0; i < n; i++) {
        unsigned a = i | 1, b = i | 3;
        for (int turn = 0; turn < times; turn++) { SIXTY_FOUR(a *= b; b *= a;) }
        result[i] = a + b;
    }
}

void madd(int n, int times, unsigned *restrict result) {
    for (int i = 0; i < n; i++) {
        unsigned a = i | 1, b = i | 3, c = i;
        for (int turn = 0; turn < times; turn++) { SIXTY_FOUR(a = a * b + c; b = b * a + c;) }
        result[i] = a + b;
    }
}

// Listing 3.1.
void copy(int n, const float *restrict src, float *restrict dst) {
    for (int i = 0; i < n; i++) dst[i] = src[i];
}

// Listing 7.1.
void transpose(int size_x, int size_y, const float *restrict idata, float *restrict odata) {
    for (int y = 0; y < size_y; ++y)
        for (int x = 0; x < size_x; ++x) odata[x * size_y + y] = idata[y * size_x + x];
}

// Listing 7.2, over the pixels that its filter does not reach beyond the edges from.
void convolution(int image_width, int image_height, int filter_gain,
                 const unsigned char *restrict in_image, const int *restrict filter,
                 unsigned char *restrict out_image) {
    for (int y = RADIUS; y < image_height - RADIUS; y++)
        for (int x = RADIUS; x < image_width - RADIUS; x++) {
            int red = 0, grn = 0, blu = 0;
            for (int fy = 0; fy < 2 * RADIUS + 1; fy++)
                for (int fx = 0; fx < 2 * RADIUS + 1; fx++) {
                    int coeff = filter[fx + fy * (2 * RADIUS + 1)];
                    int at = (y + fy - RADIUS) * image_width * 3 + 3 * (x + fx - RADIUS);
                    red += in_image[at + 0] * coeff;
                    grn += in_image[at + 1] * coeff;
                    blu += in_image[at + 2] * coeff;
                }
            out_image[y * image_width * 3 + 3 * x + 0] = red * filter_gain;
            out_image[y * image_width * 3 + 3 * x + 1] = grn * filter_gain;
            out_image[y * image_width * 3 + 3 * x + 2] = blu * filter_gain;
        }
}
