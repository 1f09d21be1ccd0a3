/* mgpu_json.c: strings as JSON writes them. */
#include "mgpu_json.h"

/* How many bytes the UTF-8 character at `text` has; 0: it is none. */
static int utf8_length(const unsigned char *text)
{
    static const unsigned least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned c = text[0];
    int n = c < 0x80 ? 1 : c >> 5 == 6 ? 2 : c >> 4 == 14 ? 3 : c >> 3 == 30 ? 4 : 0;
    unsigned code = n > 1 ? c & (0x7F >> n) : c;
    for(int i = 1; i < n; ++i) {
        if(text[i] >> 6 != 2) return 0;
        code = code << 6 | (text[i] & 0x3F);
    }
    if(n > 1 && (code < least[n] || code > 0x10FFFF || code >> 11 == 0x1B)) return 0;
    return n;
}

void mgpu_json_string(FILE *fp, const char *text)
{
    fputc('"', fp);
    while(*text) {
        int n = utf8_length((const unsigned char *)text);
        if(n == 0)
            fputs("\\ufffd", fp);
        else if(*text == '"' || *text == '\\')
            fprintf(fp, "\\%c", *text);
        else if((unsigned char)*text < 0x20)
            fprintf(fp, "\\u%04x", *text);
        else
            fwrite(text, 1, n, fp);
        text += n ? n : 1;
    }
    fputc('"', fp);
}
