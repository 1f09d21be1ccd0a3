// in src/utils.c: -assert -exit(0) -perror
// in src/image.c: -exit(0)
// in src/parser.c: -assert
//
// error() says its own words, without those of an old errno;
// error(), file_error() and an image that can not be read end the program with
// status 1, and so does a detection layer that gets another number of filters.

@ errors @
identifier s;
@@
void error(const char *s)
{
-   perror(s);
+   fprintf(stderr, "%s\n", s);
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

@ heads @
@@
- assert(l.outputs == params.inputs);
+ if(l.outputs != params.inputs) error("The layer before a yolo, region or iseg layer must have the filters that it takes");
