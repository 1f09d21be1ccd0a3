// in src/stb_image_write.h: unsigned
//
// Pictures are written as JPEG through a buffer of bits in an int, whose highest ones were
// shifted out, which C does not define.

@ writer @
identifier f =~ "jpg_writeBits$";
identifier buffer;
@@
f(...)
{
    <...
-   buffer <<= 8;
+   buffer = (int)((unsigned int)buffer << 8);
    ...>
}
