/* tile_images OUT COLUMNS IMAGE...: put images of one size side by side, a gap between.
 * OUT ends in .jpg or .png. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define STB_IMAGE_IMPLEMENTATION
#include "stb_image.h"
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

enum { GAP = 6, QUALITY = 85 };

int main(int argc, char **argv)
{
    if(argc < 4 || atoi(argv[2]) < 1) {
        fprintf(stderr, "usage: tile_images OUT COLUMNS IMAGE...\n");
        return 1;
    }
    int n = argc - 3, columns = atoi(argv[2]), lines = (n + columns - 1) / columns;
    int w = 0, h = 0, width = 0, height = 0;
    unsigned char *out = 0;
    for(int i = 0; i < n; ++i) {
        int iw, ih, channels;
        unsigned char *image = stbi_load(argv[3 + i], &iw, &ih, &channels, 3);
        if(image && !out) {
            w = iw;
            h = ih;
            width = columns * (w + GAP) - GAP;
            height = lines * (h + GAP) - GAP;
            out = malloc((size_t)width * height * 3);
            if(out) memset(out, 255, (size_t)width * height * 3);
        }
        if(!image || !out || iw != w || ih != h) {
            fprintf(stderr,
                    "tile_images: %s can not be read, or is not of the first one's size\n",
                    argv[3 + i]);
            return 1;
        }
        unsigned char *to =
            out +
            ((size_t)(i / columns) * (h + GAP) * width + (size_t)(i % columns) * (w + GAP)) * 3;
        for(int y = 0; y < h; ++y) {
            memcpy(to + (size_t)y * width * 3, image + (size_t)y * w * 3, (size_t)w * 3);
        }
        free(image);
    }
    const char *end = strrchr(argv[1], '.');
    int ok = end && strcmp(end, ".png") == 0
                 ? stbi_write_png(argv[1], width, height, 3, out, width * 3)
                 : stbi_write_jpg(argv[1], width, height, 3, out, QUALITY);
    if(!ok) fprintf(stderr, "tile_images: %s could not be written\n", argv[1]);
    free(out);
    return !ok;
}
