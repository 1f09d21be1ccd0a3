// in src/data.c: mgpu_flip -rand
//
// Whether a loaded image is mirrored is asked of the module: a cfg can turn it off.

@ @
identifier flip;
@@
- int flip = rand()%2;
+ int flip = mgpu_flip();
