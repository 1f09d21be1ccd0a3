/* mgpu_image.c: pictures read and written without ending the program on a bad one. */
#include "mgpu_image.h"
#include "image.h" /* get_color */
#include "mgpu_error.h"
#include "mgpu_file.h"
#include "stb_image.h"       /* stbi_load_from_file; the code is in Darknet's image.c */
#include "stb_image_write.h" /* stbi_write_jpg */

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_SIDE 65535 /* a JPEG's; Darknet multiplies sides as int */
#define SIZES 8            /* of letters */
#define FIRST_LETTER 32
#define LAST_LETTER 126

/* Rows of pixels of 3 bytes to 3 planes of floats. */
static int take_pixels(const unsigned char *pixels, int w, int h, image *im)
{
    size_t n = (size_t)w * h;
    if(w > LONGEST_SIDE || h > LONGEST_SIDE || n * 3 > INT_MAX) return -1;
    *im = (image){.w = w, .h = h, .c = 3, .data = malloc(n * 3 * sizeof(float))};
    if(!im->data) return -1;
    for(size_t i = 0; i < n; ++i) {
        for(int k = 0; k < 3; ++k) im->data[k * n + i] = pixels[3 * i + k] / 255.;
    }
    return 0;
}

int mgpu_image_read(const char *path, image *im)
{
    int w, h, channels;
    FILE *fp = mgpu_open(path, "image");
    if(!fp) return -1;
    unsigned char *pixels = stbi_load_from_file(fp, &w, &h, &channels, 3);
    fclose(fp);
    if(!pixels) return mgpu_fail("image %s can not be read: %s", path, stbi_failure_reason());
    int status = take_pixels(pixels, w, h, im);
    stbi_image_free(pixels);
    return status == 0 ? 0 : mgpu_fail("image %s: %d x %d pixels are too many", path, w, h);
}

int mgpu_image_write(image im, const char *path)
{
    size_t n = (size_t)im.w * im.h;
    unsigned char *pixels = malloc(n * 3);
    if(!pixels) return mgpu_fail("no memory to write %s", path);
    for(size_t i = 0; i < n; ++i) {
        for(int k = 0; k < 3; ++k) pixels[3 * i + k] = 255 * im.data[k * n + i];
    }
    int written = stbi_write_jpg(path, im.w, im.h, 3, pixels, 80);
    free(pixels);
    return written ? 0 : mgpu_fail("picture %s can not be written", path);
}

void mgpu_letters_free(image **letters)
{
    for(int size = 0; letters && size < SIZES; ++size) {
        for(int c = FIRST_LETTER; letters[size] && c <= LAST_LETTER; ++c) {
            free_image(letters[size][c]);
        }
        free(letters[size]);
    }
    free(letters);
}

image **mgpu_letters_read(void)
{
    image **letters = calloc(SIZES, sizeof *letters);
    int missing = !letters;
    for(int size = 0; !missing && size < SIZES; ++size) {
        letters[size] = calloc(LAST_LETTER + 1, sizeof **letters);
        missing = !letters[size];
        for(int c = FIRST_LETTER; !missing && c <= LAST_LETTER; ++c) {
            char path[64];
            snprintf(path, sizeof path, "data/labels/%d_%d.png", c, size);
            missing = mgpu_image_read(path, letters[size] + c) < 0;
        }
    }
    if(!missing) return letters;
    mgpu_letters_free(letters);
    return 0;
}

/* Darknet has letters for printable ASCII only. */
static void draw_name(image im, int top, int left, const char *name, const float *rgb,
                      image **letters)
{
    char text[256];
    snprintf(text, sizeof text, "%s", name);
    for(char *c = text; *c; ++c) {
        if(*c < FIRST_LETTER || *c > LAST_LETTER) *c = '?';
    }
    image label = get_label(letters, text, im.h * .03f);
    draw_label(im, top, left, label, rgb);
    free_image(label);
}

void mgpu_image_draw(image im, box b, int class, int classes, const char *name, image **letters)
{
    int width = im.h * .006f;
    int place = (int)(class * 123457LL % classes); /* spreads neighbours over the colours */
    float rgb[3];
    if(width < 1) width = 1;
    for(int k = 0; k < 3; ++k) rgb[k] = get_color(2 - k, place, classes);
    int left = b.x - b.w / 2, right = b.x + b.w / 2;
    int top = b.y - b.h / 2, bottom = b.y + b.h / 2;
    draw_box_width(im, left, top, right, bottom, width, rgb[0], rgb[1], rgb[2]);
    if(letters) draw_name(im, top + width, left, name, rgb, letters);
}
