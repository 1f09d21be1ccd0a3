#!/bin/bash
# test_cuda_faults.sh: CUDA devices that fail. Each run ends with status 1 and a line that names
# the device, and the weights of the last complete batch are there: the same bytes as a run that
# ended with that batch has.
#
# Needs: MGPU_DARKNET, built on the stand-in for CUDA; MGPU_SCRATCH.
set -eu -o pipefail

. tests/cuda/small_training.sh

both() {
    local wanted=$1
    shift
    train "$wanted" -gpus 0,1 -deterministic "$@"
}

# A device without room, from the start: which one, and nothing is written.
export FAKE_CUDA_MEMORY_MB=64,1
sed -i 's/filters=8/filters=800/' small.cfg
both 1
says 'CUDA device 1: .*out of memory, [0-9]+ of 1 MB free; raise subdivisions'
[ -z "$(ls backup)" ] || fail "something was saved"
sed -i 's/filters=800/filters=8/' small.cfg
unset FAKE_CUDA_MEMORY_MB

# In the middle of a batch, wherever gradients are merged and the root lives. Fewer under the thread
# sanitizer, where a run takes a hundred times as long.
ways=("1 1" "1 0" "0 1" "0 0") least=18
faults="launch:200:1 launch:351:0 cudaMemcpyAsync:30:1 cudnnConvolutionForward:15:0 ncclAllReduce:7:1"
case $MGPU_VARIANT in
*tsan) ways=("1 1" "0 1") least=3 faults="launch:351:0 ncclAllReduce:7:1" ;;
esac
saved=0
for way in "${ways[@]}"; do
    set -- $way
    for fault in $faults; do
        case $fault in
        nccl*) [ "$1" = 0 ] || continue ;;
        esac
        FAKE_CUDA_FAIL=$fault both 1 -cpu_merge "$1" -cpu_relocation "$2"
        says "CUDA device ${fault##*:}: "
        says 'mgpu: the weights after batch [0-9]+, the last that was complete, are in backup/small.backup'
        batch=$(sed -n 's/.*weights after batch \([0-9]*\),.*/\1/p' "$said")
        cp backup/small.backup kept
        [ "$batch" -gt 0 ] || continue
        both 0 -cpu_merge "$1" -cpu_relocation "$2" -max_batches "$batch"
        cmp kept backup/small.weights || fail "$fault, $way: not the weights of batch $batch"
        saved=$((saved + 1))
    done
done
[ "$saved" -ge "$least" ] || fail "only $saved faults came after the first batch"

# Darknet's own commands end, too.
mkdir -p labels
rm -f backup/*
FAKE_CUDA_FAIL=launch:250:1 run 1 classifier train some.data small.cfg -gpus 0,1
says 'CUDA device 1: '
says 'are in backup/small.backup'
[ -s backup/small.backup ] || fail "no weights of classifier train"

# Bad ids, and no device.
train 1 -ngpus 3
says 'there is no device 2; CUDA devices are 0..1'
train 1 -gpus 5
says 'there is no device 5; CUDA devices are 0..1'
FAKE_CUDA_DEVICES=0 train 1
says 'there is no CUDA device .*-nogpu runs on host devices'
FAKE_CUDA_DEVICES=0 train 0 -nogpu -ngpus 2 -max_batches 2
says 'Saving weights to backup/small.weights'
echo "$saved faults after the first batch, each with the weights of the last complete batch saved"
