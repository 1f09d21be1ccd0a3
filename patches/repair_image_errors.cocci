// in src/stb_image.h: mgpu_image_reason
//
// Images are read by several threads at once: each keeps its own reason for the
// last image that could not be read.

@ shared @
@@
- static const char *stbi__g_failure_reason;

@ reason @
@@
- stbi__g_failure_reason
+ (*mgpu_image_reason())
