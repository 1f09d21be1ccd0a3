// in src/utils.c: -assert -exit(0)
// in src/image.c: -exit(0)
//
// error(), file_error() and an image that can not be read end the program with
// status 1.

@ errors @
@@
void error(...)
{
    ...
-   assert(0);
-   exit(-1);
+   exit(1);
}

@ files @
@@
void file_error(...)
{
    ...
-   exit(0);
+   exit(1);
}

@ images @
typedef image;
@@
image load_image_stb(...)
{
    <...
-   exit(0);
+   exit(1);
    ...>
}
