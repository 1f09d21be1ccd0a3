// in examples/detector.c: pthread_join
// in examples/segmenter.c: pthread_join
// in examples/instance-segmenter.c: pthread_join
// in examples/regressor.c: pthread_join
// in examples/yolo.c: pthread_join
// in examples/coco.c: pthread_join
// in examples/super.c: pthread_join
// in examples/classifier.c: pthread_join
//
// The threads that load one batch more than is trained write to the stack of the
// function that started them and read its paths: it waits for them.

@ trained @
identifier f =~ "^train_(detector|segmenter|isegmenter|regressor|yolo|coco|super)$";
identifier buff, net;
expression E;
statement S;
@@
f(...)
{
    ...
    while(E) S
    ...
    save_weights(net, buff);
+   pthread_join(load_thread, 0);
    ...
}

@ tested @
symbol load_thread;
statement T;
expression A, B, C;
@@
test_classifier(...)
{
    ...
    for(A; B; C) T
+   pthread_join(load_thread, 0);
}
