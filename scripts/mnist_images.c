/* mnist_images IMAGES LABELS FOLDER: write MNIST's images as files.
 *
 * IMAGES and LABELS are in MNIST's own format, IDX: numbers of 4 bytes, the highest first
 * (a magic number, how many, rows, columns), then a byte a pixel or label. Written are
 * FOLDER/NNNNN_digit_D.png: Darknet finds the label in the name. Prints how many.
 */
#include <stdio.h>
#include <stdlib.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

enum { MAGIC_IMAGES = 0x803, MAGIC_LABELS = 0x801, LARGEST = 1024 };

static long read_number(FILE *fp)
{
    unsigned char b[4];
    if(fread(b, 1, 4, fp) != 4) return -1;
    return (long)b[0] << 24 | b[1] << 16 | b[2] << 8 | b[3];
}

static void fail(const char *what, const char *file)
{
    fprintf(stderr, "mnist_images: %s: %s\n", file, what);
    exit(1);
}

static FILE *open_idx(const char *file, long magic, long *n)
{
    FILE *fp = fopen(file, "rb");
    if(!fp) fail("can not be read", file);
    if(read_number(fp) != magic) fail("is not a file of MNIST's", file);
    *n = read_number(fp);
    return fp;
}

int main(int argc, char **argv)
{
    long n, labels_n;
    if(argc != 4) {
        fprintf(stderr, "usage: mnist_images IMAGES LABELS FOLDER\n");
        return 1;
    }
    FILE *images = open_idx(argv[1], MAGIC_IMAGES, &n);
    FILE *labels = open_idx(argv[2], MAGIC_LABELS, &labels_n);
    long h = read_number(images), w = read_number(images);
    if(n != labels_n) fail("has not as many labels as there are images", argv[2]);
    if(h < 1 || w < 1 || h > LARGEST || w > LARGEST) fail("has images of no size", argv[1]);
    unsigned char *grey = malloc(h * w);
    for(long i = 0; i < n; ++i) {
        char path[4096];
        int label = fgetc(labels);
        if(!grey || fread(grey, 1, h * w, images) != (size_t)(h * w))
            fail("is cut short", argv[1]);
        if(label < 0 || label > 9)
            fail("is cut short, or has other labels than 0 to 9", argv[2]);
        snprintf(path, sizeof path, "%s/%05ld_digit_%d.png", argv[3], i, label);
        if(!stbi_write_png(path, w, h, 1, grey, w)) fail("could not be written", path);
    }
    printf("%ld images\n", n);
    free(grey);
    fclose(images);
    fclose(labels);
    return 0;
}
