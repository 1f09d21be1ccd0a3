/* mgpu_json.h: strings as JSON writes them. */
#ifndef MGPU_JSON_H
#define MGPU_JSON_H

#include <stdio.h>

/* Writes `text` in quotes, by the rules of RFC 8259. Bytes that are no UTF-8 (RFC 3629)
 * become U+FFFD, one each. */
void mgpu_json_string(FILE *fp, const char *text);

#endif
