#!/bin/bash
# test_cuda_home.sh: the folder of CUDA is found whether the nvcc on PATH is CUDA's own, a
# link, or a script elsewhere that runs it; CUDA= wins; none is status 1.
#
# Needs: MGPU_SCRATCH. It makes an nvcc of its own, which says of a run what NVIDIA's says.
set -eu

cuda=$MGPU_SCRATCH/cuda-1.2
mkdir -p "$cuda/bin" "$MGPU_SCRATCH/script" "$MGPU_SCRATCH/old/bin"
cat >"$cuda/bin/nvcc" <<NVCC
#!/bin/sh
case "\$*" in
*--dryrun*) printf '#\$ _NVVM_BRANCH_=nvvm\n#\$ _HERE_=%s\n#\$ TOP=%s/..\n' "$cuda/bin" "$cuda/bin" >&2 ;;
esac
NVCC
printf '#!/bin/sh\nexec %s/bin/nvcc "$@"\n' "$cuda" >"$MGPU_SCRATCH/script/nvcc"
printf '#!/bin/sh\n' >"$MGPU_SCRATCH/old/bin/nvcc"
ln -s cuda-1.2 "$MGPU_SCRATCH/link"
chmod +x "$cuda/bin/nvcc" "$MGPU_SCRATCH/script/nvcc" "$MGPU_SCRATCH/old/bin/nvcc"

found() { # FOLDER PATH [CUDA]
    local said
    said=$(CUDA=${3:-} PATH=$2:/usr/bin:/bin scripts/cuda_home)
    [ "$said" = "$1" ] || { echo "cuda_home said '$said' and not '$1'" >&2; exit 1; }
}

found "$cuda" "$cuda/bin"
found "$cuda" "$MGPU_SCRATCH/link/bin"
found "$cuda" "$MGPU_SCRATCH/script"
found "$MGPU_SCRATCH/old" "$MGPU_SCRATCH/old/bin" # says nothing of itself
found "$cuda" "$MGPU_SCRATCH/old/bin" "$cuda"

! CUDA=$MGPU_SCRATCH/none PATH=/usr/bin:/bin scripts/cuda_home
