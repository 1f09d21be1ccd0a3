#!/bin/bash
# test_cuda_faults.sh: CUDA devices that fail. Each run ends with status 1 and a line that names
# the device, and the weights of the last complete batch are there: the same bytes as a run that
# ended with that batch has.
#
# Needs: MGPU_DARKNET, built on the stand-in for CUDA; MGPU_SCRATCH.
set -eu -o pipefail

cd "$MGPU_SCRATCH"
unset FAKE_CUDA_FAIL FAKE_CUDA_MEMORY_MB
export FAKE_CUDA_DEVICES=2
mkdir -p images backup
said=$MGPU_SCRATCH/said

fail() {
    echo "test_cuda_faults.sh: $*" >&2
    tail -n 20 "$said" >&2
    exit 1
}

# Images of 8x8 points in one grey, light or dark.
for i in 1 2 3 4 5 6 7 8; do
    for class in light dark; do
        {
            echo "P6 8 8 255"
            head -c 192 /dev/zero | tr '\0' "$([ $class = light ] && echo "\\2$((50 + i))" || echo "\\0$((40 + i))")"
        } >"images/${i}_$class.ppm"
        echo "images/${i}_$class.ppm"
    done
done >train.list
printf 'light\ndark\n' >labels.list
printf 'classes=2\ntrain=train.list\nvalid=train.list\nlabels=labels.list\nbackup=backup\ntop=1\n' >some.data
cat >small.cfg <<'CFG'
[net]
batch=8
subdivisions=2
height=8
width=8
channels=3
learning_rate=0.01
momentum=0.9
decay=0.0005
max_batches=20
flip=0
[convolutional]
batch_normalize=1
filters=8
size=3
pad=1
activation=leaky
[maxpool]
size=2
stride=2
[convolutional]
filters=2
size=1
activation=linear
[avgpool]
[softmax]
CFG

# train STATUS OPTIONS...: the settings of the stand-in come from the environment
train() {
    local wanted=$1 status=0
    shift
    rm -f backup/*
    timeout 60 "$MGPU_DARKNET" mgpu train some.data small.cfg -gpus 0,1 -seed 3 -deterministic "$@" >"$said" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "status $status instead of $wanted: ${FAKE_CUDA_FAIL:-} ${FAKE_CUDA_MEMORY_MB:-} $*"
}

says() {
    grep -qE -- "$1" "$said" || fail "nothing says '$1'"
}

# A device without room, from the start: which one, and nothing is written.
export FAKE_CUDA_MEMORY_MB=64,1
sed -i 's/filters=8/filters=800/' small.cfg
train 1
says 'CUDA device 1: .*out of memory, [0-9]+ of 1 MB free; raise subdivisions'
[ -z "$(ls backup)" ] || fail "something was saved"
sed -i 's/filters=800/filters=8/' small.cfg
unset FAKE_CUDA_MEMORY_MB

# In the middle of a batch, wherever gradients are merged and the root lives.
saved=0
for way in "1 1" "1 0" "0 1" "0 0"; do
    set -- $way
    for fault in launch:200:1 launch:351:0 cudaMemcpyAsync:30:1 cudnnConvolutionForward:15:0 ncclAllReduce:7:1; do
        case $fault in
        nccl*) [ "$1" = 0 ] || continue ;;
        esac
        FAKE_CUDA_FAIL=$fault train 1 -cpu_merge "$1" -cpu_relocation "$2"
        says "CUDA device ${fault##*:}: "
        says 'mgpu: the weights after batch [0-9]+, the last that was complete, are in backup/small.backup'
        batch=$(sed -n 's/.*weights after batch \([0-9]*\),.*/\1/p' "$said")
        cp backup/small.backup kept
        [ "$batch" -gt 0 ] || continue
        train 0 -cpu_merge "$1" -cpu_relocation "$2" -max_batches "$batch"
        cmp kept backup/small.weights || fail "$fault, $way: not the weights of batch $batch"
        saved=$((saved + 1))
    done
done
[ "$saved" -ge 10 ] || fail "only $saved faults came after the first batch"

# Darknet's own commands end, too.
mkdir -p labels
status=0
rm -f backup/*
FAKE_CUDA_FAIL=launch:250:1 timeout 60 "$MGPU_DARKNET" mgpu classifier train some.data small.cfg -gpus 0,1 >"$said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "classifier train: status $status"
says 'CUDA device 1: '
says 'are in backup/small.backup'
[ -s backup/small.backup ] || fail "no weights of classifier train"

# Bad ids, and no device.
train 1 -ngpus 3
says 'there is no device 2; CUDA devices are 0..1|exclude each other'
status=0
"$MGPU_DARKNET" mgpu train some.data small.cfg -gpus 5 >"$said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "-gpus 5: status $status"
says 'there is no device 5; CUDA devices are 0..1'
status=0
FAKE_CUDA_DEVICES=0 "$MGPU_DARKNET" mgpu train some.data small.cfg >"$said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "no device: status $status"
says 'there is no CUDA device .*-nogpu runs on host devices'
FAKE_CUDA_DEVICES=0 "$MGPU_DARKNET" mgpu train some.data small.cfg -nogpu -ngpus 2 -max_batches 2 >"$said" 2>&1 || fail "-nogpu"
says 'Saving weights to backup/small.weights'
echo "$saved faults after the first batch, each with the weights of the last complete batch saved"
