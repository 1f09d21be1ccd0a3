#!/bin/bash
# test_cuda_options.sh: what options and the environment make of training on CUDA devices.
#
# Needs: MGPU_DARKNET, built on the stand-in for CUDA; MGPU_SCRATCH.
set -eu -o pipefail

. tests/cuda/small_training.sh

# weights NAME OPTIONS...: trains, and keeps the weights as NAME
weights() {
    local name=$1
    shift
    train 0 "$@"
    mv backup/small.weights "$name"
}

differ() {
    ! cmp -s "$1" "$2" || fail "$1 and $2 are the same bytes"
}

# The stand-in's algorithms that are not deterministic add in another order each time, and its
# products round where they are allowed to.
weights once -gpus 0 -deterministic
weights again -gpus 0 -deterministic
weights free -gpus 0
weights rounded -gpus 0 -deterministic -tf32
cmp once again || fail "-deterministic: two runs differ"
differ once free
differ once rounded

# -reproducible: the same bytes on one device, on two, and twice on one.
weights one -gpus 0 -reproducible
for way in "1 1" "0 1" "0 0"; do
    set -- $way
    weights two -gpus 0,1 -reproducible -cpu_merge "$1" -cpu_relocation "$2"
    cmp one two || fail "-reproducible on two devices: other bytes (cpu_merge $1, cpu_relocation $2)"
done
weights shared -gpus 0,0 -share_device -reproducible
cmp one shared || fail "-reproducible on a shared device: other bytes"
train 1 -gpus 0,0
says 'device 0 is listed twice'

# What CUDA_VISIBLE_DEVICES leaves is counted from 0, in its order.
export FAKE_CUDA_MEMORY_MB=1,64
sed -i 's/filters=8/filters=800/' small.cfg
CUDA_VISIBLE_DEVICES=1 train 0 -gpus 0 -max_batches 1
CUDA_VISIBLE_DEVICES=1,0 train 1 -gpus 0,1 -max_batches 1
says 'CUDA device 1: .*of 1 MB free'
CUDA_VISIBLE_DEVICES=1 train 1 -gpus 1
says 'there is no device 1; .*0'
CUDA_VISIBLE_DEVICES= train 1 -gpus 0
says 'there is no CUDA device .*CUDA_VISIBLE_DEVICES='
unset FAKE_CUDA_MEMORY_MB

# -profile: a line a device. Every device sends its gradients and gets the weights, 4 bytes each:
# 800 filters of 3x3x3, their scales and biases, and 2 of 800 with their biases.
profile() {
    train 0 -gpus 0,1 -profile -max_batches 5 "$@"
    says '^mgpu: profile of 5 steps, [0-9.]+ seconds in all'
    says '^device +forward +backward +waiting +merge +update +publish +MB from +MB to$'
    awk -v from="$from" '$1 == "CUDA" && NF == 10 {
        for(i = 3; i <= 8; ++i) if($i < 0) exit 2
        if($3 <= 0 || $4 <= 0 || (from && ($9 < from || $9 > from * 1.1))) exit 2
        ++n
    } END { exit n != 2 }' "$said" || fail "-profile $*: not the figures of two devices"
}
from=$(awk 'BEGIN { print 5 * 4 * (800 * (27 + 2) + 2 * 800 + 2) / 1e6 }') profile
from= profile -cpu_merge 0
from= profile -cpu_merge 0 -reproducible

sed -i 's/filters=800/filters=8/' small.cfg

# Validating and predicting give on devices what they give on the host.
train 0 -gpus 0,1
for gpus in "-gpus 0" "-gpus 0,1" "-nogpu -gpus 0,1"; do
    # shellcheck disable=SC2086
    run 0 valid some.data small.cfg backup/small.weights $gpus
    grep '^top 1: .*16 images' "$said" | tr '\r' '\n' | tail -n 1 >valid || fail "valid $gpus: no figure"
    # shellcheck disable=SC2086
    "$MGPU_DARKNET" mgpu predict some.data small.cfg backup/small.weights images/3_light.ppm images/4_dark.ppm $gpus 2>"$said" |
        sed 's/\([0-9]\.[0-9]\{4\}\)[0-9]*/\1/g' >predicted || fail "predict $gpus"
    [ "$(wc -l <predicted)" = 2 ] || fail "predict $gpus: not two lines"
    [ -e first ] || cp valid first
    [ -e first_predicted ] || cp predicted first_predicted
    cmp valid first || fail "valid $gpus: other figures"
    cmp predicted first_predicted || fail "predict $gpus: other figures"
done
