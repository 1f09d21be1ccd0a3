/* digits_images FOLDER <digits.csv: write the handwritten digits as images.
 *
 * They go to FOLDER/train or FOLDER/valid as NNNN_digit_D.png: Darknet finds the label
 * in the name. Prints how many.
 * FOLDER/train and FOLDER/valid must be there.
 */
#include "digits.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

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
                 is_for_validation(n) ? "valid" : "train", n, digit);
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
