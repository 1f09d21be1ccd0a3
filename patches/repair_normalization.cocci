// in src/parser.c: size
//
// With fewer channels than half its size a normalization layer read past the last one:
// it is taken for one that just reaches over all of them, which is the same sum.

@ channels @
typedef list, size_params;
identifier options, params, size;
@@
parse_normalization(list *options, size_params params)
{
    ...
    int size = option_find_int(options, "size", 5);
+   if(size/2 > params.c) size = 2*params.c;
    ...
}
