/* digits.h: reads the handwritten digits, for the programs that make images of them.
 *
 * A line of the input is 64 grey values of an 8x8 image, 0 to 16, and its digit. Every
 * fifth is kept for validation. */
#ifndef DIGITS_H
#define DIGITS_H

#include <stdio.h>

enum { SIDE = 8, PIXELS = SIDE * SIDE, WHITE = 16, EVERY = 5 };

static inline int is_for_validation(int number)
{
    return number % EVERY == EVERY - 1;
}

/* Returns 1 with the next image (0 to 255) and its digit, 0 at the end, -1 if a line is
 * not one. */
static inline int read_digit(unsigned char *grey, int *digit)
{
    float value;
    for(int i = 0; i < PIXELS; ++i) {
        int got = scanf("%f,", &value);
        if(got == EOF && i == 0) return 0;
        if(got != 1 || value < 0 || value > WHITE) return -1;
        grey[i] = (unsigned char)(value * 255 / WHITE + .5f);
    }
    if(scanf("%f", &value) != 1 || value < 0 || value > 9) return -1;
    *digit = (int)value;
    return 1;
}

#endif
