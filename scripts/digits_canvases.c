/* digits_canvases FOLDER TRAIN VALID <digits.csv: place handwritten digits on canvases.
 *
 * TRAIN canvases are made of the digits for training, VALID of the others: one to five
 * digits each, of several sizes and brightnesses, on uneven ground, none over another.
 * Written are FOLDER/images/{train,valid}_NNNN.png and, for Darknet's detector,
 * FOLDER/labels/{train,valid}_NNNN.txt: `class x y width height` a digit, in parts of the
 * canvas. The same on every run. FOLDER/images and FOLDER/labels must be there.
 */
#include "digits.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include "stb_image_write.h"

enum { CANVAS = 192, MOST = 5, SMALLEST = 36, LARGEST = 80, DIGITS = 4000 };

typedef struct {
    unsigned char grey[PIXELS];
    int digit;
} sample;

typedef struct {
    int x, y, side;
} square;

static sample samples[2][DIGITS]; /* for training, for validation */
static int counts[2];
static uint64_t state = 1;

/* 0..n-1, by Knuth's MMIX linear congruential generator. */
static int draw(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % n);
}

/* The sample's brightness at a place within its side, 0 to 1, between pixels evenly. */
static float at(const sample *s, float u, float v)
{
    float x = u * SIDE - .5f, y = v * SIDE - .5f;
    x = x < 0 ? 0 : x > SIDE - 1 ? SIDE - 1 : x;
    y = y < 0 ? 0 : y > SIDE - 1 ? SIDE - 1 : y;
    int i = (int)x < SIDE - 2 ? (int)x : SIDE - 2, j = (int)y < SIDE - 2 ? (int)y : SIDE - 2;
    const unsigned char *g = s->grey + j * SIDE + i;
    float top = g[0] + (x - i) * (g[1] - g[0]);
    float bottom = g[SIDE] + (x - i) * (g[SIDE + 1] - g[SIDE]);
    return (top + (y - j) * (bottom - top)) / 255;
}

static void paint_ground(unsigned char *rgb)
{
    int from[3], slope_x[3], slope_y[3];
    for(int c = 0; c < 3; ++c) {
        from[c] = 30 + draw(50);
        slope_x[c] = draw(60) - 30;
        slope_y[c] = draw(60) - 30;
    }
    for(int y = 0; y < CANVAS; ++y) {
        for(int x = 0; x < CANVAS; ++x) {
            for(int c = 0; c < 3; ++c) {
                int value = from[c] + slope_x[c] * x / CANVAS + slope_y[c] * y / CANVAS;
                value += draw(12);
                rgb[(y * CANVAS + x) * 3 + c] = value < 0 ? 0 : value;
            }
        }
    }
}

static void paint_digit(unsigned char *rgb, const sample *s, square q)
{
    int ink[3];
    for(int c = 0; c < 3; ++c) ink[c] = 170 + draw(86);
    for(int y = 0; y < q.side; ++y) {
        for(int x = 0; x < q.side; ++x) {
            float a = at(s, (x + .5f) / q.side, (y + .5f) / q.side);
            for(int c = 0; c < 3; ++c) {
                unsigned char *p = rgb + ((q.y + y) * CANVAS + q.x + x) * 3 + c;
                *p = (unsigned char)(*p + a * (ink[c] - *p));
            }
        }
    }
}

/* Where the ink is: the digit's own columns and rows of its side. */
static void write_box(FILE *fp, const sample *s, square q)
{
    int left = SIDE, right = 0, top = SIDE, bottom = 0;
    for(int i = 0; i < PIXELS; ++i) {
        if(s->grey[i] < 64) continue;
        int x = i % SIDE, y = i / SIDE;
        left = x < left ? x : left;
        right = x + 1 > right ? x + 1 : right;
        top = y < top ? y : top;
        bottom = y + 1 > bottom ? y + 1 : bottom;
    }
    double unit = (double)q.side / SIDE / CANVAS;
    fprintf(fp, "%d %.6f %.6f %.6f %.6f\n", s->digit,
            (double)q.x / CANVAS + (left + right) / 2. * unit,
            (double)q.y / CANVAS + (top + bottom) / 2. * unit, (right - left) * unit,
            (bottom - top) * unit);
}

static int is_free(const square *placed, int n, square q)
{
    for(int i = 0; i < n; ++i) {
        const square *p = placed + i;
        if(q.x < p->x + p->side && p->x < q.x + q.side && q.y < p->y + p->side &&
           p->y < q.y + q.side) {
            return 0;
        }
    }
    return 1;
}

static int make_canvas(const char *folder, int set, int number)
{
    static unsigned char rgb[CANVAS * CANVAS * 3];
    char path[4096];
    const char *name = set ? "valid" : "train";
    square placed[MOST];
    int n = 0, wanted = 1 + draw(MOST);
    snprintf(path, sizeof path, "%s/labels/%s_%04d.txt", folder, name, number);
    FILE *fp = fopen(path, "w");
    if(!fp) return -1;
    paint_ground(rgb);
    for(int tries = 0; n < wanted && tries < 200; ++tries) {
        square q = {.side = SMALLEST + draw(LARGEST - SMALLEST + 1)};
        q.x = draw(CANVAS - q.side + 1);
        q.y = draw(CANVAS - q.side + 1);
        if(!is_free(placed, n, q)) continue;
        const sample *s = samples[set] + draw(counts[set]);
        paint_digit(rgb, s, q);
        write_box(fp, s, q);
        placed[n++] = q;
    }
    if(fclose(fp)) return -1;
    snprintf(path, sizeof path, "%s/images/%s_%04d.png", folder, name, number);
    return stbi_write_png(path, CANVAS, CANVAS, 3, rgb, CANVAS * 3) ? 0 : -1;
}

int main(int argc, char **argv)
{
    if(argc != 4) {
        fprintf(stderr, "usage: digits_canvases FOLDER TRAIN VALID <digits.csv\n");
        return 1;
    }
    sample s;
    int got = 1;
    for(int n = 0; (got = read_digit(s.grey, &s.digit)) == 1; ++n) {
        int set = is_for_validation(n);
        if(counts[set] < DIGITS) samples[set][counts[set]++] = s;
    }
    if(got < 0 || !counts[0] || !counts[1]) {
        fprintf(stderr, "digits_canvases: a line is not 64 values of 0 to 16 and a digit\n");
        return 1;
    }
    for(int set = 0; set < 2; ++set) {
        for(int i = 0; i < atoi(argv[2 + set]); ++i) {
            if(make_canvas(argv[1], set, i) == 0) continue;
            fprintf(stderr, "digits_canvases: could not write to %s\n", argv[1]);
            return 1;
        }
    }
    return 0;
}
