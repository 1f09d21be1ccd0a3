// in src/gru_layer.c: gate weighted_delta_cpu mult_add_into_cpu
//
// A gru layer learns on the CPU: its backward pass, empty before, is that of the GPU.

@ backward @
typedef layer;
typedef network;
typedef ACTIVATION;
identifier l, net;
@@
+/* The gate of layer w, over the past state, and u, over the input, in one step. */
+static void gate(layer w, layer u, ACTIVATION a, float *out)
+{
+    int n = w.outputs*w.batch;
+    copy_cpu(n, u.output, 1, out, 1);
+    axpy_cpu(n, 1, w.output, 1, out, 1);
+    activate_array(out, n, a);
+}
+
+/* The delta of that gate, in u's and from there in w's. */
+static void gate_delta(layer w, layer u, ACTIVATION a, float *gated)
+{
+    int n = w.outputs*w.batch;
+    gradient_array(gated, n, a, u.delta);
+    copy_cpu(n, u.delta, 1, w.delta, 1);
+}
+
void backward_gru_layer(layer l, network net)
{
+    int n = l.outputs*l.batch;
+    int t;
+    ACTIVATION a = l.tanh ? TANH : LOGISTIC;
+    network past = net;
+    network now = net;
+    for(t = l.steps - 1; t >= 0; --t){
+        layer wz = *(l.wz), wr = *(l.wr), wh = *(l.wh);
+        layer uz = *(l.uz), ur = *(l.ur), uh = *(l.uh);
+        layer *parts[] = {&wz, &wr, &wh, &uz, &ur, &uh};
+        float *state = (t == 0) ? l.prev_state : l.output + (t - 1)*n;
+        float *past_delta = (t == 0) ? 0 : l.delta + (t - 1)*n;
+        int i;
+        for(i = 0; i < 6; ++i) increment_layer(parts[i], t);
+
+        gate(wz, uz, LOGISTIC, l.z_cpu);
+        gate(wr, ur, LOGISTIC, l.r_cpu);
+        gate(wh, uh, a, l.h_cpu);
+        weighted_delta_cpu(state, l.h_cpu, l.z_cpu, past_delta, uh.delta, uz.delta, n, l.delta + t*n);
+
+        gate_delta(wh, uh, a, l.h_cpu);
+        copy_cpu(n, state, 1, l.forgot_state, 1);
+        mul_cpu(n, l.r_cpu, 1, l.forgot_state, 1);
+        fill_cpu(n, 0, l.forgot_delta, 1);
+        past.input = l.forgot_state;
+        past.delta = l.forgot_delta;
+        backward_connected_layer(wh, past);
+        if(past_delta) mult_add_into_cpu(n, l.forgot_delta, l.r_cpu, past_delta);
+        mult_add_into_cpu(n, l.forgot_delta, state, ur.delta);
+
+        gate_delta(wr, ur, LOGISTIC, l.r_cpu);
+        gate_delta(wz, uz, LOGISTIC, l.z_cpu);
+        past.input = state;
+        past.delta = past_delta;
+        backward_connected_layer(wr, past);
+        backward_connected_layer(wz, past);
+
+        now.input = net.input + t*l.inputs*l.batch;
+        now.delta = net.delta ? net.delta + t*l.inputs*l.batch : 0;
+        backward_connected_layer(uh, now);
+        backward_connected_layer(ur, now);
+        backward_connected_layer(uz, now);
+    }
}
