# small_training.sh: for tests of CUDA devices to source: 16 images of light or dark grey, a cfg
# that tells them apart, and what runs it and reads what it said.
#
# Needs: MGPU_DARKNET, built on the stand-in for CUDA; MGPU_SCRATCH, which becomes the directory.

cd "$MGPU_SCRATCH"
unset FAKE_CUDA_FAIL FAKE_CUDA_MEMORY_MB
export FAKE_CUDA_DEVICES=2
mkdir -p images backup
said=$MGPU_SCRATCH/said

fail() {
    echo "$(basename "$0"): $*" >&2
    tail -n 20 "$said" >&2
    exit 1
}

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

# run STATUS ARGUMENTS...: the settings of the stand-in come from the environment. A program that
# ends by an error holds memory and threads to its end.
run() {
    local wanted=$1 status=0
    shift
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:detect_leaks=$((wanted == 0)) \
        TSAN_OPTIONS=${TSAN_OPTIONS:-}:report_thread_leaks=$((wanted == 0)) \
        timeout 60 "$MGPU_DARKNET" mgpu "$@" >"$said" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "status $status instead of $wanted: ${FAKE_CUDA_FAIL:-} ${FAKE_CUDA_MEMORY_MB:-} $*"
}

# train STATUS OPTIONS...: from nothing
train() {
    local wanted=$1
    shift
    rm -f backup/*
    run "$wanted" train some.data small.cfg -seed 3 "$@"
}

says() {
    grep -qE -- "$1" "$said" || fail "nothing says '$1'"
}
