#!/bin/bash
# test_stand_in.sh: the CUDA stand-in's own test.
#
# Needs: what `make VARIANT=fake run_tests` builds.
set -eu
unset FAKE_CUDA_DEVICES
exec "build/$MGPU_VARIANT/tests/test_stand_in"
