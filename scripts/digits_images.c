/* digits_images FOLDER <digits.csv: write the handwritten digits as images.
 *
 * A line of the input is 64 grey values of an 8x8 image, 0 to 16, and its digit.
 * Every fifth goes to FOLDER/valid, the others to FOLDER/train, as
 * NNNN_digit_D.png: Darknet finds the label in the name. Prints how many.
 * FOLDER/train and FOLDER/valid must be there.
 */
#include <stdio.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

enum { SIDE = 8, PIXELS = SIDE * SIDE, WHITE = 16, EVERY = 5 };

/* Returns 1 with the next image and its digit, 0 at the end, -1 if a line is not one. */
static int read_digit(unsigned char *grey, int *digit)
{
    for(int i = 0; i < PIXELS; ++i) {
        float value;
        int got = scanf("%f,", &value);
        if(got == EOF && i == 0) return 0;
        if(got != 1 || value < 0 || value > WHITE) return -1;
        grey[i] = (unsigned char)(value * 255 / WHITE + .5f);
    }
    float value;
    if(scanf("%f", &value) != 1 || value < 0 || value > 9) return -1;
    *digit = (int)value;
    return 1;
}

int main(int argc, char **argv)
{
    if(argc != 2) {
        fprintf(stderr, "usage: digits_images FOLDER <digits.csv\n");
        return 1;
    }
    unsigned char grey[PIXELS];
    int digit, got, n;
    for(n = 0; (got = read_digit(grey, &digit)) == 1; ++n) {
        char path[4096];
        snprintf(path, sizeof(path), "%s/%s/%04d_digit_%d.png", argv[1],
                 n % EVERY == EVERY - 1 ? "valid" : "train", n, digit);
        if(!stbi_write_png(path, SIDE, SIDE, 1, grey, SIDE)) {
            fprintf(stderr, "digits_images: could not write %s\n", path);
            return 1;
        }
    }
    if(got < 0 || n == 0) {
        fprintf(stderr, "digits_images: line %d is not 64 values of 0 to 16 and a digit\n",
                n + 1);
        return 1;
    }
    printf("%d images\n", n);
    return 0;
}
