// in src/utils.c: output
//
// Darknet looks for a label's path by replacing in place; where there was nothing to
// replace, the path was printed onto itself, which C does not define.

@ @
identifier str, output;
@@
find_replace(char *str, ..., char *output)
{
    <...
-   sprintf(output, "%s", str);
+   if(str != output) sprintf(output, "%s", str);
    ...>
}
