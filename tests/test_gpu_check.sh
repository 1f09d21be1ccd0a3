#!/bin/bash
# test_gpu_check.sh: scripts/gpu_check, on the stand-in for CUDA: every part does what it says,
# a part that fails is named and does not stop the others, and neither apt nor Coccinelle nor
# the network is asked for anything.
#
# Needs: build/fake; MGPU_SCRATCH. With other variants it has nothing to do.
set -eu -o pipefail

if [ "$MGPU_VARIANT" != fake ]; then
    echo "test_gpu_check.sh: only for the stand-in (VARIANT=fake)"
    exit 0
fi
said=$MGPU_SCRATCH/said

fail() {
    echo "test_gpu_check.sh: $*" >&2
    tail -n 40 "$said" >&2
    exit 1
}

# check STATUS SETTING...: runs gpu_check, which has to end with STATUS
check() {
    local wanted=$1 status=0
    shift
    env FAKE=1 "$@" scripts/gpu_check >"$said" 2>&1 || status=$?
    [ "$status" = "$wanted" ] || fail "status $status instead of $wanted with $*"
}

# has PATTERN: a line of the table, which is all after its heading
has() {
    sed '1,/^==== the table/d' "$said" | grep -qE -- "$1" || fail "no line '$1' in the table"
}

# What is not to be needed leaves a mark when it is asked.
bin=$MGPU_SCRATCH/bin
mkdir "$bin"
for tool in apt-get dpkg-query spatch curl wget; do
    printf '#!/bin/sh\necho "%s $*" >>"%s/asked"\nexit 1\n' "$tool" "$MGPU_SCRATCH" >"$bin/$tool"
    chmod +x "$bin/$tool"
done
export PATH=$bin:$PATH

# A tree that was unpacked and patched elsewhere builds as it is.
away=$MGPU_SCRATCH/away
mkdir -p "$away/build"
cp -Rp Makefile cfg darknet_mgpu patches scripts tests "$away"
cp -Rp build/upstream build/upstream.stamp build/darknet build/darknet.stamp build/darknet.mk "$away/build"
(unset MAKEFLAGS MAKELEVEL MFLAGS && SETUP=0 make -C "$away" -n VARIANT=fake build/fake/gpu_contract) >"$said" 2>&1 ||
    fail "the tree does not build elsewhere"
grep -q 'mgpu_step.o' "$said" || fail "elsewhere nothing is to be built"

number='[0-9]+\.[0-9]+'
check 0 FAKE_CUDA_DEVICES=2
has '^card 0: .*; 2 cards'
has '2 and 4 replicas on one card, to one .* held \(16\)'
has '2 and 4 replicas on a card each, to one .* held \(8\)'
has '1, 2 and 4 replicas on cards, to host .* held \(32\)'
has '-reproducible: the same bytes .* held \(12\)'
has "^the bus: one copy .* $number.* $number"
has "^weights and gradients of digits .* $number.* $number"
has "^digits, batch 8: stock .* $number"
has "^digits-yolo, batch 2: stock .* $number"
has "^ +ours.* $number \(.* $number \(.* $number \("
has '^(not measured: PyTorch|.*PyTorch [0-9])'
has ' s in all$'
! grep -qE 'FAILED|NOT HELD' "$said" || fail "something failed"
[ "$(sed '1,/^==== the table/d' "$said" | wc -l)" -lt 30 ] || fail "the table has 30 lines or more"

# Where devices can not merge among themselves, all else is checked and measured, and said.
check 1 FAKE_CUDA_DEVICES=1 FAKE_CUDA_FAIL=cudaMemcpyPeerAsync:1+:0
has '2 and 4 replicas on one card, to one .* NOT HELD'
has '^FAILED: contract'
has '^FAILED: speed \(digits, fake.2d\)'
has "^weights and gradients of digits .* $number.* $number"
has "^ +ours.* $number \\(.* $number \\(.* -$"

check 1 FAKE_CUDA_DEVICES=0
[ "$(grep -c '^gpu_check: there is no CUDA device' "$said")" = 1 ] || fail "that there is no card is not said"
[ "$(wc -l <"$said")" -le 2 ] || fail "more than a line where there is no card"

[ ! -e "$MGPU_SCRATCH/asked" ] || fail "asked for: $(cat "$MGPU_SCRATCH/asked")"
