// in src/upsample_layer.c: mgpu_upsample_gpu
// in src/crop_layer.c: mgpu_forward_crop_gpu
//
// Kernels of the module's in place of Darknet's. Upsampling: its backward pass added up in
// the order in which threads came by. Cropping: it changed its input, took images of any
// channels for ones of three, and cropped between places, where the CPU starts at one.

@ upsample @
@@
- upsample_gpu
+ mgpu_upsample_gpu
  (...)

@ crop @
identifier made;
@@
- made.forward_gpu = forward_crop_layer_gpu;
+ made.forward_gpu = mgpu_forward_crop_gpu;
