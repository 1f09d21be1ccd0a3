// in src/local_layer.c: sizeof
// in src/parser.c: pad
//
// A local layer's workspace is counted in bytes. pad=1 pads by half the size, as in a
// convolutional layer, and the output is as large as im2col makes it; where the size is
// not 3 they did not agree, and im2col wrote past the workspace.

@ workspace @
identifier made;
expression E;
@@
make_local_layer(...)
{
    <...
-   made.workspace_size = E;
+   made.workspace_size = E*sizeof(float);
    ...>
}

@ side @
identifier f =~ "^local_out_(height|width)$";
identifier l, n;
statement S1, S2;
@@
f(...)
{
    ...
-   if(!l.pad) S1 else S2
-   return n/l.stride + 1;
+   return (n + 2*l.pad - l.size)/l.stride + 1;
}

@ half @
identifier options, pad;
@@
parse_local(...)
{
    ...
    int pad = option_find_int(options, "pad", 0);
+   if(pad) pad = size/2;
    ...
}
