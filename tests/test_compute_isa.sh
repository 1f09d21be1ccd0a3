#!/bin/bash
# test_compute_isa.sh: test_compute as on processors with less than this one has: blocks of 16
# channels (AVX-512), of 8 (AVX2), and none.
#
# Needs: build/fast; MGPU_SCRATCH. With other variants it has nothing to do.
set -eu -o pipefail

[ "$MGPU_VARIANT" = fast ] || exit 0
for isa in AVX512_CORE AVX2 SSE41; do
    echo "-- $isa"
    DNNL_MAX_CPU_ISA=$isa ONEDNN_MAX_CPU_ISA=$isa build/fast/tests/test_compute >"$MGPU_SCRATCH/said" 2>&1 || {
        cat "$MGPU_SCRATCH/said"
        exit 1
    }
    tail -n 1 "$MGPU_SCRATCH/said"
done
