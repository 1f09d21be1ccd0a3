#!/bin/bash
# test_build.sh: a patch that does not apply, and a tree that is not pjreddie's, stop the
# build with a name; the user's own tree is copied, never edited.
#
# Needs: build/upstream; MGPU_SCRATCH. Works on a copy of the scripts and patches.
set -eu -o pipefail

top=$PWD
cd "$MGPU_SCRATCH"
mkdir -p build
cp -R "$top/scripts" "$top/patches" .
cp -R "$top/build/upstream" mine
touch mine/mine.weights mine/yolo.o

fail() {
    echo "test_build.sh: $*" >&2
    tail -n 5 said >&2
    exit 1
}

# refused WORDS COMMAND...: status 1, and the last line has the words
refused() {
    local words=$1 status=0
    shift
    "$@" >said 2>&1 || status=$?
    [ "$status" = 1 ] || fail "status $status instead of 1 from: $*"
    grep -qF -- "$words" said || fail "'$words' is not in what was said by: $*"
}

sum() {
    (cd "$1" && find . -type f ! -name '*.o' ! -name '*.weights' -print0 | sort -z | xargs -0 cksum | cksum)
}

# The user's own tree.
before=$(sum mine)
DARKNET=$PWD/mine scripts/get_darknet >said 2>&1 || fail "DARKNET= is not taken"
[ "$(sum build/upstream)" = "$before" ] || fail "the copy is another tree"
[ ! -e build/upstream/yolo.o ] || fail "an object came along"
DARKNET=$PWD/mine scripts/patch_darknet >said 2>&1 || fail "patches do not apply to the copy"
[ "$(sum mine)" = "$before" ] || fail "the user's tree was edited"
grep -q mgpu_train_network build/darknet/src/network.c || fail "no hook in build/darknet"
grep -q DARKNET_OBJ build/darknet.mk || fail "build/darknet.mk has no objects"

# A patch that does not apply: named, and nothing half-made is left.
sed 's/float train_network(/float train_net(/' "$top/build/upstream/src/network.c" >mine/src/network.c
DARKNET=$PWD/mine scripts/get_darknet >said 2>&1 || fail "an edited tree is not taken again"
refused "patches/hook_step.cocci did not apply to src/network.c" scripts/patch_darknet
[ ! -e build/darknet.tmp ] || fail "a half-made tree is left"
cp "$top/build/upstream/src/network.c" mine/src

# Forks and other folders, by name.
mkdir -p alexey/src alexey/include other
cp -R mine/. alexey
touch alexey/include/yolo_v2_class.hpp
refused AlexeyAB env DARKNET="$PWD/alexey" scripts/get_darknet
refused "not a Darknet tree" env DARKNET="$PWD/other" scripts/get_darknet
refused "DARKNET=" env DARKNET="$PWD/nowhere" scripts/get_darknet
