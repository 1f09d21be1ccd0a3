#!/bin/bash
# test_cuda_headers.sh: the CUDA stand-in's headers say what NVIDIA's say: each function,
# number and field of ours is there, with the same type; and what was removed from CUDA is
# not in ours. Where a header of NVIDIA's is not installed, it says so.
#
# Needs: gcc; MGPU_SCRATCH. CUDA= names a folder to look in first.
set -eu -o pipefail
export LC_ALL=C

ours=tests/cuda/include
theirs=
cuda=$(scripts/cuda_home || echo "${CUDA:-/usr/local/cuda}")
[ ! -f "$cuda/include/cuda_runtime.h" ] || theirs=$cuda/include

compile() { # FILE FLAGS...: nothing but a difference is an error
    gcc -std=gnu11 -Wall -Werror -Wno-unused -Wno-deprecated-declarations "${@:2}" -c "$1" \
        -o "$MGPU_SCRATCH/check.o"
}

# What a header of ours has, as C that another header has to fit.
write_check() { # HEADER
    echo "#include <stddef.h>"
    echo "#include \"$1.h\""
    gcc -E -P "$ours/$1.h" | awk -f tests/cuda/check_headers.awk
    sed -n -E 's/^#define ((cuda|NCCL|CUDNN)[A-Za-z_]*) (0x[0-9a-f]+|[0-9]+)$/\1 \3/p' "$ours/$1.h" |
        grep -v 'MAJOR\|MINOR\|PATCH\|VERSION' |
        sed -E 's/(.*) (.*)/_Static_assert(\1 == \2, "\1");/' || true
}

# removed HEADER CALL: a program that calls it does not compile with ours.
removed() {
    printf '#include "%s.h"\nint main(void) { %s(); return 0; }\n' "$1" "$2" >"$MGPU_SCRATCH/removed.c"
    if compile "$MGPU_SCRATCH/removed.c" -I"$ours" 2>"$MGPU_SCRATCH/said"; then
        echo "test_cuda_headers.sh: $2 is in $1.h" >&2
        exit 1
    fi
    grep -q "implicit declaration of function '$2'" "$MGPU_SCRATCH/said"
}

for header in cuda_runtime cublas_v2 curand cudnn nccl; do
    check=$MGPU_SCRATCH/$header.c
    write_check $header >"$check"
    calls=$(grep -c call_ "$check")
    [ "$calls" -gt 4 ] && compile "$check" -I"$ours"
    if [ ! "$theirs" ] || [ ! -f "$theirs/$header.h" ]; then
        echo "$header.h: NVIDIA's is not installed, nothing to compare with"
    elif compile "$check" -I"$theirs"; then
        echo "$header.h: $calls functions as in $theirs"
    else
        echo "test_cuda_headers.sh: $header.h differs from NVIDIA's" >&2
        exit 1
    fi
done

removed cuda_runtime cudaThreadSynchronize
removed cudnn cudnnGetConvolutionForwardAlgorithm
removed cudnn cudnnGetConvolutionBackwardDataAlgorithm
removed cudnn cudnnGetConvolutionBackwardFilterAlgorithm
