// in src/deconvolutional_layer.c: groups
//
// A deconvolutional layer has one group: loading its weights divides by their number.

@ one @
identifier made;
@@
make_deconvolutional_layer(...)
{
    <...
    made.type = DECONVOLUTIONAL;
+   made.groups = 1;
    ...>
}
