// in src/image.c: mgpu_hooks mgpu_image_failed
//
// A thread that can do without an image gets a blank one where it can not be read.

@ includes @
@@
#include "image.h"
+ #include "mgpu_hooks.h"

@ blank @
typedef image;
identifier file, channels, pixels;
@@
image load_image_stb(char *file, int channels)
{
    <...
    if(!pixels){
+       if(mgpu_image_failed(stbi_failure_reason())) return make_image(32, 32, 3);
        ...
    }
    ...>
}
