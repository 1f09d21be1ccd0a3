// in src/utils.c: open_file
// in src/data.c: open_file
// in include/darknet.h: open_file
// in examples/rnn.c: open_file
// in examples/coco.c: open_file
// in examples/detector.c: open_file
// in examples/go.c: open_file
// in examples/yolo.c: open_file
//
// A file that can not be opened is named, and ends the program with status 1, also where
// nobody looked whether it was.

@ looked @
expression f, name, mode, test;
position p;
statement S;
@@
f = fopen@p(name, mode);
if(test) S

@ looked_at_once @
identifier f;
expression name, mode, test;
position p;
statement S;
@@
FILE *f = fopen@p(name, mode);
if(test) S

@ others @
expression name, mode;
position p != {looked.p, looked_at_once.p};
@@
- fopen@p(name, mode)
+ open_file(name, mode)

@ define @
identifier s;
@@
void file_error(char *s)
{
    ...
}
+
+FILE *open_file(char *name, char *mode)
+{
+    FILE *opened = fopen(name, mode);
+    if(!opened) file_error(name);
+    return opened;
+}

@ declare @
declarer name MGPU_THREAD_INT;
@@
MGPU_THREAD_INT(gpu_index);
+ FILE *open_file(char *name, char *mode);
