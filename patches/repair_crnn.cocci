// in src/crnn_layer.c: workspace_size learning_rate_scale adam -copy_gpu
// in src/crnn_layer.h: adam
// in src/parser.c: adam
//
// A crnn layer asks for the workspace of its convolutions, and these learn: their rates'
// scale was 0. In the backward pass the state of each step is the one that the forward
// pass kept, a shortcut's part included, and the input layer gets its delta before the
// self layer's activation is derived, as in rnn layers on the GPU. So it is on the GPU. An
// image's height and width are no longer swapped. Under Adam it has Adam's moments, which the
// GPU wrote to without.

@ nested @
identifier made, part;
expression rows;
@@
make_crnn_layer(...)
{
    <...
    made.part->batch = rows;
+   mgpu_rows_set(made.part);
+   made.part->learning_rate_scale = 1;
+   if(made.part->workspace_size > made.workspace_size) made.workspace_size = made.part->workspace_size;
    ...>
}

@ backward @
typedef layer;
typedef network;
identifier l, net, s, i, in, self, out;
@@
void backward_crnn_layer(layer l, network net)
{
    ...
    for(...; i >= 0; --i){
-       copy_cpu(l.hidden * l.batch, in.output, 1, l.state, 1);
-       axpy_cpu(l.hidden * l.batch, 1, self.output, 1, l.state, 1);
        ...
        backward_convolutional_layer(out, s);
+       copy_cpu(l.hidden*l.batch, self.delta, 1, in.delta, 1);
+       if(i > 0 && l.shortcut) axpy_cpu(l.hidden*l.batch, 1, self.delta, 1, self.delta - l.hidden*l.batch, 1);
        ...
        backward_convolutional_layer(self, s);
-       copy_cpu(l.hidden*l.batch, self.delta, 1, in.delta, 1);
-       if(i > 0 && l.shortcut) axpy_cpu(l.hidden*l.batch, 1, self.delta, 1, self.delta - l.hidden*l.batch, 1);
        ...
    }
}

@ backward_gpu @
identifier l, net, s, i, in, self, out;
@@
void backward_crnn_layer_gpu(layer l, network net)
{
    ...
    for(...; i >= 0; --i){
-       copy_gpu(l.hidden * l.batch, in.output_gpu, 1, l.state_gpu, 1);
-       axpy_gpu(l.hidden * l.batch, 1, self.output_gpu, 1, l.state_gpu, 1);
        ...
        backward_convolutional_layer_gpu(out, s);
+       copy_gpu(l.hidden*l.batch, self.delta_gpu, 1, in.delta_gpu, 1);
+       if(i > 0 && l.shortcut) axpy_gpu(l.hidden*l.batch, 1, self.delta_gpu, 1, self.delta_gpu - l.hidden*l.batch, 1);
        ...
        backward_convolutional_layer_gpu(self, s);
-       copy_gpu(l.hidden*l.batch, self.delta_gpu, 1, in.delta_gpu, 1);
-       if(i > 0 && l.shortcut) axpy_gpu(l.hidden*l.batch, 1, self.delta_gpu, 1, self.delta_gpu - l.hidden*l.batch, 1);
        ...
    }
}

@ sides @
identifier params;
expression batch_normalize;
@@
make_crnn_layer(
    params.batch,
-   params.w, params.h,
+   params.h, params.w,
    ...,
-   batch_normalize
+   batch_normalize, params.net->adam
    )

@ declared @
identifier batch_normalize;
@@
layer make_crnn_layer(...,
-   int batch_normalize
+   int batch_normalize, int adam
    );

@ moments @
identifier batch_normalize;
@@
layer make_crnn_layer(...,
-   int batch_normalize
+   int batch_normalize, int adam
    )
{
    <...
    make_convolutional_layer(..., 0, 0,
-   0
+   adam
    )
    ...>
}
