// in examples/cifar.c: mgpu_backup
// in examples/classifier.c: mgpu_backup
// in examples/coco.c: mgpu_backup mgpu_image_list
// in examples/detector.c: mgpu_backup mgpu_image_list
// in examples/go.c: mgpu_backup
// in examples/instance-segmenter.c: mgpu_backup
// in examples/lsd.c: mgpu_backup
// in examples/regressor.c: mgpu_backup
// in examples/rnn.c: mgpu_backup
// in examples/segmenter.c: mgpu_backup
// in examples/super.c: mgpu_backup mgpu_image_list
// in examples/tag.c: mgpu_backup mgpu_image_list
// in examples/yolo.c: mgpu_backup mgpu_image_list
//
// Where a command saves, and the list of images that some have in their code, can be
// named on the command line. A checkpoint's path may be longer than 255 bytes.

@ directory @
symbol backup_directory;
expression E;
@@
- char *backup_directory = E;
+ char *backup_directory = mgpu_backup(E);

@ images @
symbol train_images;
constant char [] C;
@@
- char *train_images = C;
+ char *train_images = mgpu_image_list(C);

@ paths @
constant char [] C;
@@
- get_paths(C)
+ get_paths(mgpu_image_list(C))

@ room @
identifier f =~ "^train_";
identifier buff;
@@
f(...)
{
    <...
-   char buff[256];
+   char buff[4096];
    ...>
}
