# Darknet that trains one network on several devices.
#
#   make            ./darknet, ./libdarknet.so and ./libdarknet.a
#   make PLAIN=1    the same with stock Darknet's own flags and products
#   make GPU=1      the same for CUDA devices too; CUDNN=1 with cuDNN, NCCL=1 with NCCL
#   make test       every test; TESTS="test_plan ..." names some
#   make asan tsan  the tests under the sanitizers
#   make test-cuda  the tests of CUDA devices, on a stand-in for CUDA that needs no card
#   make nvcc       compiles and links for CUDA, cuDNN and NCCL, where they are installed
#   make test-zoo   every cfg that Darknet ships, on several devices
#   make mutants    shows that tests fail where a guard is taken away
#   make lint       formatting, cppcheck, scripts
#   make bench      images per second of training, against stock
#   make memory     the memory of training, against stock
#   make stock      unpatched Darknet, in build/stock
#   make digits     a small data set, in build/digits
#   make demo       train, validate, and let stock Darknet use the result
#   make detect     the same for a detector, with a picture
#   make install    to $(DESTDIR)$(PREFIX)
#   make clean      removes what was built; distclean also what was downloaded
#
# DARKNET=/path takes that tree of pjreddie's Darknet instead of downloading one;
# ARCH_FLAGS= replaces -march=native.
#
# CUDA=/path is where CUDA is; ARCH= names the cards to compile for, in nvcc's words;
# CUDA_MORE=/path has include/ and lib/ with what is not there (scripts/cuda_parts).
#
# A variant is one way to compile everything, in build/VARIANT: fast, plain, asan
# and tsan; fast_cuda and plain_cuda, for CUDA; fake, fake_asan and fake_tsan, for the
# stand-in for CUDA in tests/cuda, which needs no card.
# This file builds one at a time, $(VARIANT), and calls itself for others.

PREFIX ?= /usr/local
VARIANT ?= $(if $(filter 1,$(PLAIN)),plain,fast)$(if $(filter 1,$(GPU)),_cuda)
OUT := build/$(VARIANT)

# What the variant is compiled like, and whose CUDA it has: none, real or fake.
like_fake := plain
like_fake_asan := asan
like_fake_tsan := tsan
LIKE := $(or $(like_$(VARIANT)),$(VARIANT:_cuda=))
CUDA_KIND := $(if $(filter %_cuda,$(VARIANT)),real,$(if $(filter fake%,$(VARIANT)),fake,none))
BLAS_LIBS := $(if $(filter fast,$(LIKE)),-lopenblas)

# oneDNN, in the build for speed, where the compiler finds it.
ifeq ($(LIKE),fast)
DNNL ?= $(shell echo '\#include <oneapi/dnnl/dnnl.h>' | $(CC) -x c -E - >/dev/null 2>&1 && echo 1)
DNNL_LIBS := $(if $(filter 1,$(DNNL)),-ldnnl -lgomp)
endif

all: darknet libdarknet.a libdarknet.so

.PHONY: all variant test test-zoo test-cuda test-cuda-asan test-cuda-tsan nvcc asan tsan mutants lint stock memory bench digits demo detect install clean distclean \
    run_tests setup_test setup_lint FORCE
.DELETE_ON_ERROR:

# ---- Darknet's source: fetched, patched, and its Makefile read into DARKNET_*.
# Each script changes nothing if it has nothing to do.

ifeq ($(filter clean distclean,$(MAKECMDGOALS)),)
include build/darknet.mk
else ifneq ($(filter-out clean distclean,$(MAKECMDGOALS)),)
$(error clean and distclean go alone: make clean && make)
endif

build/darknet.mk: FORCE
	@scripts/setup build
	@scripts/get_darknet
	@scripts/patch_darknet

# ---- Flags

ARCH_FLAGS ?= -march=native
arch_fast := $(ARCH_FLAGS)
sanitize_asan := -fsanitize=address,undefined -fno-sanitize-recover=undefined
sanitize_tsan := -fsanitize=thread

ifneq ($(sanitize_$(LIKE)),)
SANITIZE := $(sanitize_$(LIKE)) -g -O1 -fno-omit-frame-pointer
STOCK_FLAGS = $(filter-out -O%,$(DARKNET_CFLAGS)) $(SANITIZE)
OPTIMIZE := $(SANITIZE)
else
STOCK_FLAGS = $(DARKNET_CFLAGS) $(arch_$(LIKE))
OPTIMIZE := -O3 $(arch_$(LIKE))
endif

# CUDA: where it is, and what goes to compilers and linker.
ifeq ($(CUDA_KIND),real)
CUDA ?= $(or $(shell scripts/cuda_home),/usr/local/cuda)
NVCC ?= $(CUDA)/bin/nvcc
ARCH ?= $(shell scripts/cuda_arch $(NVCC))
ifneq ($(CUDA),/usr)
CUDA_INCLUDES := -isystem $(CUDA)/include
CUDA_LIBS := $(addprefix -L,$(wildcard $(CUDA)/lib64 $(CUDA)/lib)) -Wl,-rpath,$(CUDA)/lib64
endif
ifneq ($(CUDA_MORE),)
CUDA_INCLUDES += -isystem $(CUDA_MORE)/include
CUDA_LIBS += -L$(CUDA_MORE)/lib -Wl,-rpath,$(CUDA_MORE)/lib
endif
CUDA_LIBS += -lcudart -lcublas -lcurand $(if $(filter 1,$(CUDNN)),-lcudnn) $(if $(filter 1,$(NCCL)),-lnccl) -lstdc++
else ifeq ($(CUDA_KIND),fake)
CUDNN ?= $(if $(wildcard tests/cuda/include/cudnn.h),1)
NCCL ?= $(if $(wildcard tests/cuda/include/nccl.h),1)
ARCH :=
FAKE_CUDA_OUT := $(OUT)
FAKE_CUDA_FLAGS := $(SANITIZE)
include tests/cuda/stand_in.mk
NVCC := $(FAKE_NVCC)
CUDA_INCLUDES := -isystem $(FAKE_CUDA_INCLUDE)
CUDA_LIBS := $(FAKE_CUDA_LIB) -lstdc++
endif
ifneq ($(CUDA_KIND),none)
CUDA_DEFINES := -DGPU $(if $(filter 1,$(CUDNN)),-DCUDNN) $(if $(filter 1,$(NCCL)),-DNCCL)
CUDA_FLAGS := $(CUDA_DEFINES) $(CUDA_INCLUDES)
endif

# Darknet's files: stock's flags and where the hooks are declared. A hook that is
# not declared would be taken to return int.
DARKNET_FLAGS = $(DARKNET_COMMON) -Idarknet_mgpu $(CUDA_FLAGS) $(STOCK_FLAGS) \
    -Wno-stringop-truncation -Werror=implicit-function-declaration

# Ours: strict (WERROR= for a compiler that warns of more), and never with fast-math.
WERROR ?= -Werror
MODULE_FLAGS := -std=c11 -D_GNU_SOURCE -Wall -Wextra $(WERROR) -fPIC -pthread -ffp-contract=off -fopenmp-simd $(OPTIMIZE)
MODULE_INCLUDES := $(if $(BLAS_LIBS),-DMGPU_BLAS) $(if $(DNNL_LIBS),-DDNNL -fopenmp) $(CUDA_FLAGS) -Idarknet_mgpu -isystem build/darknet/include -isystem build/darknet/src

# CUDA's files, Darknet's and ours, by nvcc; the C compiler's flags go to what it compiles by.
NVCC_FLAGS = $(ARCH) $(CUDA_DEFINES) $(CUDA_INCLUDES) $(DARKNET_COMMON) -Idarknet_mgpu -O3 \
    --compiler-options "$(filter-out -Ofast,$(DARKNET_CFLAGS)) $(SANITIZE)"

# Objects depend on this file, which changes when the flags do; ours on the patched tree as well,
# whose headers -MMD leaves out.
$(OUT)/flags: FORCE
	@mkdir -p $(OUT)/obj $(OUT)/tests
	@echo '$(CC) $(DARKNET_FLAGS) $(MODULE_FLAGS) $(LIBS) $(if $(CUDA_FLAGS),$(NVCC) $(NVCC_FLAGS))' >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

# ---- One variant

MODULE_OBJ := $(patsubst darknet_mgpu/%.c,$(OUT)/obj/%.o,$(wildcard darknet_mgpu/*.c))
ifneq ($(CUDA_KIND),none)
DARKNET_CUDA_OBJ = $(patsubst build/darknet/src/%.cu,$(OUT)/obj/%.o,$(wildcard build/darknet/src/*.cu))
MODULE_CUDA_OBJ := $(patsubst darknet_mgpu/%.cu,$(OUT)/obj/%.o,$(wildcard darknet_mgpu/*.cu))
endif
LIBRARY_OBJ = $(addprefix $(OUT)/obj/,$(DARKNET_OBJ)) $(DARKNET_CUDA_OBJ) $(MODULE_OBJ) $(MODULE_CUDA_OBJ)
PROGRAM_OBJ = $(addprefix $(OUT)/obj/,$(DARKNET_EXECOBJ))
LIBS = $(BLAS_LIBS) $(DNNL_LIBS) $(CUDA_LIBS) $(DARKNET_LDFLAGS)

variant: $(OUT)/darknet $(OUT)/libdarknet.a $(OUT)/libdarknet.so

$(MODULE_OBJ): $(OUT)/obj/%.o: darknet_mgpu/%.c $(OUT)/flags build/darknet.stamp
	@echo 'CC $@'
	@$(CC) $(MODULE_INCLUDES) $(MODULE_FLAGS) -MMD -MP -c $< -o $@

$(OUT)/obj/%.o: build/darknet/src/%.c $(OUT)/flags
	@echo 'CC $@'
	@$(CC) $(DARKNET_FLAGS) -MMD -MP -c $< -o $@

$(OUT)/obj/%.o: build/darknet/examples/%.c $(OUT)/flags
	@echo 'CC $@'
	@$(CC) $(DARKNET_FLAGS) -MMD -MP -c $< -o $@

# Without OpenCV Darknet's one C++ file is empty: no C++ compiler is needed.
$(OUT)/obj/%.o: build/darknet/src/%.cpp $(OUT)/flags
	@echo 'CC $@'
	@$(CC) $(DARKNET_FLAGS) -MMD -MP -x c -c $< -o $@

$(DARKNET_CUDA_OBJ): $(OUT)/obj/%.o: build/darknet/src/%.cu $(wildcard build/darknet/include/*.h build/darknet/src/*.h) $(OUT)/flags
	@echo 'NVCC $@'
	@$(NVCC) $(NVCC_FLAGS) -c $< -o $@

$(MODULE_CUDA_OBJ): $(OUT)/obj/%.o: darknet_mgpu/%.cu $(wildcard darknet_mgpu/*.h) $(OUT)/flags build/darknet.stamp
	@echo 'NVCC $@'
	@$(NVCC) $(NVCC_FLAGS) -c $< -o $@

$(DARKNET_CUDA_OBJ) $(MODULE_CUDA_OBJ): $(wildcard $(FAKE_NVCC) $(FAKE_CUDA_INCLUDE)/*.h)
$(OUT)/libdarknet.so $(OUT)/libdarknet.a: $(FAKE_CUDA_LIB)

$(OUT)/libdarknet.a: $(LIBRARY_OBJ)
	@echo 'AR $@'
	@rm -f $@
	@$(AR) rcs $@ $(LIBRARY_OBJ)

$(OUT)/libdarknet.so: $(LIBRARY_OBJ)
	@echo 'LD $@'
	@$(CC) $(STOCK_FLAGS) -shared $(LIBRARY_OBJ) -o $@ $(LIBS)

$(OUT)/darknet: $(PROGRAM_OBJ) $(OUT)/libdarknet.a
	@echo 'LD $@'
	@$(CC) $(STOCK_FLAGS) $(PROGRAM_OBJ) $(OUT)/libdarknet.a -o $@ $(LIBS)

# The top folder has the products of the variant that was made last.
darknet libdarknet.a libdarknet.so: %: $(OUT)/% FORCE
	@cmp -s $< $@ || { rm -f $@; cp $< $@; echo 'made ./$@ ($(VARIANT))'; }

-include $(wildcard $(OUT)/obj/*.d $(OUT)/tests/*.d)

# ---- Stock Darknet, by its own Makefile

stock: build/stock.stamp

# For CUDA: what today's wants otherwise is said to its Makefile, so that the source is stock's.
# Without cuDNN, of which stock uses calls that are gone.
STOCK_CUDA := build/stock_$(CUDA_KIND)_cuda
from_top = $(patsubst build/%,$(CURDIR)/build/%,$(patsubst tests/%,$(CURDIR)/tests/%,$1))
STOCK_CUDA_LIBS = $(call from_top,$(filter-out -lcudnn -lnccl,$(CUDA_LIBS)))

build/stock.stamp: stock_args := GPU=0
build/stock_openmp.stamp: stock_args := GPU=0 OPENMP=1
$(STOCK_CUDA).stamp: stock_args = GPU=1 NVCC='$(call from_top,$(NVCC))' ARCH='$(ARCH)' \
    COMMON='-Iinclude/ -Isrc/ -DGPU -DcudaThreadSynchronize=cudaDeviceSynchronize $(call from_top,$(CUDA_INCLUDES))' \
    LDFLAGS='-lm -pthread $(STOCK_CUDA_LIBS)'
$(STOCK_CUDA).stamp: $(STOCK_CUDA).flags $(FAKE_CUDA_LIB)

$(STOCK_CUDA).flags: FORCE
	@echo '$(NVCC) $(ARCH) $(CUDA_INCLUDES)' >$@.tmp
	@cmp -s $@.tmp $@ && rm $@.tmp || mv $@.tmp $@

build/stock.stamp build/stock_openmp.stamp $(STOCK_CUDA).stamp: build/%.stamp: build/upstream.stamp
	@echo 'building stock Darknet (build/$*)'
	@rm -rf build/$*
	@cp -Rp build/upstream build/$*
	@mkdir -p build/$*/obj build/$*/backup build/$*/results
	@$(MAKE) -s -C build/$* all CPP='gcc -x c' CUDNN=0 OPENCV=0 OPENMP=0 DEBUG=0 $(stock_args) \
	    >build/$*.log 2>&1 || { tail -n 20 build/$*.log; \
	    echo 'stock Darknet does not compile; see build/$*.log' >&2; exit 1; }
	@touch $@

# ---- Tests: each tests/test_*.c is a program, each tests/*.sh a test

CUDA_ONLY := test_cuda_layers tests/test_cuda_headers.sh tests/test_cuda_faults.sh tests/test_cuda_options.sh \
    tests/test_stand_in.sh tests/test_gpu_check.sh
TESTS ?= $(filter-out $(CUDA_ONLY),$(patsubst tests/%.c,%,$(wildcard tests/test_*.c)) $(wildcard tests/*.sh))
FAST_TESTS := test_products test_loops test_compute tests/test_compute_isa.sh test_contract
TEST_PROGRAMS = $(addprefix $(OUT)/,$(patsubst %.c,%,$(wildcard tests/test_*.c)))
STOCK_RUN = $(if $(wildcard tests/stock_run.c),build/stock/stock_run)

$(OUT)/tests/%.o: tests/%.c $(OUT)/flags build/darknet.stamp
	@echo 'CC $@'
	@$(CC) -Itests $(MODULE_INCLUDES) $(MODULE_FLAGS) -MMD -MP -c $< -o $@

# Linked with stock's flags: -Ofast at link time sets how the processor treats
# subnormal numbers, in stock's program as well.
$(TEST_PROGRAMS): $(OUT)/tests/%: $(OUT)/tests/%.o $(OUT)/libdarknet.a
	@$(CC) $(STOCK_FLAGS) $(filter %.o %.a,$^) -o $@ -lcmocka $(LIBS) -lm -pthread

# Programs of tests/ that are linked with stock Darknet.
STOCK_CC = @echo 'CC $@' && $(CC) -DSTOCK -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Itests \
    -isystem $(@D)/include -isystem $(@D)/src $(DARKNET_CFLAGS) $< $(@D)/libdarknet.a -o $@ -lm -pthread

build/stock/stock_run build/stock/bench_step: build/stock/%: tests/%.c $(wildcard tests/*.h) build/stock.stamp
	$(STOCK_CC)

build/stock_openmp/bench_step: tests/bench_step.c tests/support.h build/stock_openmp.stamp
	$(STOCK_CC) -fopenmp

$(OUT)/bench_step $(OUT)/bench_reduce $(OUT)/zoo $(OUT)/gpu_contract $(OUT)/gpu_speed: $(OUT)/%: $(OUT)/tests/%.o $(OUT)/libdarknet.a
	@$(CC) $(STOCK_FLAGS) $^ -o $@ $(LIBS) -lm -pthread

# What scripts/gpu_check runs.
$(STOCK_CUDA)/gpu_speed: tests/gpu_speed.c tests/support.h $(STOCK_CUDA).stamp
	$(STOCK_CC) -DGPU $(CUDA_INCLUDES) $(filter-out -lcudnn -lnccl,$(CUDA_LIBS))

$(OUT)/gpu_card: tests/gpu_card.c $(OUT)/flags $(FAKE_CUDA_LIB)
	@echo 'CC $@'
	@$(CC) $(CUDA_FLAGS) $(MODULE_FLAGS) $< -o $@ $(CUDA_LIBS) -pthread

gpu_programs: $(OUT)/gpu_card $(OUT)/gpu_contract $(OUT)/gpu_speed $(STOCK_CUDA)/gpu_speed
.PHONY: gpu_programs

run_tests: variant $(TEST_PROGRAMS) $(FAKE_CUDA_TEST)
	@scripts/run_tests $(VARIANT) $(TESTS)

# The build for speed first, as far as it differs; then the one to compare with stock.
test: setup_test stock $(STOCK_RUN)
	@$(MAKE) --no-print-directory VARIANT=fast TESTS="$(FAST_TESTS)" run_tests
	@$(MAKE) --no-print-directory VARIANT=plain run_tests

asan tsan: setup_test stock $(STOCK_RUN)
	@$(MAKE) --no-print-directory VARIANT=$@ run_tests

# On fake devices, eager, then deferred and guarded, then with a kernel's threads in reverse order;
# then the tests of host devices in the same binary, without a card.
CUDA_TESTS := test_device test_contract test_replicas test_root $(CUDA_ONLY)
MODE_TESTS := test_device test_cuda_layers tests/test_cuda_faults.sh
HOST_TESTS := test_root test_command test_layers test_valid test_stock_commands

test-cuda: setup_test stock $(STOCK_RUN)
	@$(MAKE) --no-print-directory VARIANT=fake TESTS="$(CUDA_TESTS)" run_tests
	@env FAKE_CUDA_ASYNC=1 FAKE_CUDA_GUARD=1 $(MAKE) --no-print-directory VARIANT=fake TESTS="test_contract $(MODE_TESTS)" run_tests
	@env FAKE_CUDA_REVERSE=1 $(MAKE) --no-print-directory VARIANT=fake TESTS="$(MODE_TESTS)" run_tests
	@$(MAKE) --no-print-directory VARIANT=fake ON_HOST=1 TESTS="$(HOST_TESTS)" run_tests

# Under the sanitizers: layers, on one device, give the thread sanitizer nothing to see.
SANITIZED_TESTS := test_device tests/test_cuda_faults.sh tests/test_stand_in.sh

test-cuda-asan: SANITIZED_TESTS += test_cuda_layers
test-cuda-asan test-cuda-tsan: setup_test stock $(STOCK_RUN)
	@$(MAKE) --no-print-directory VARIANT=$(patsubst test-cuda-%,fake_%,$@) TESTS="$(SANITIZED_TESTS)" run_tests

nvcc:
	@scripts/nvcc_check

# Every cfg that Darknet ships; ZOO="rnn gru" names some.
test-zoo: $(OUT)/zoo
	@scripts/zoo $(ZOO)

# Each guard of tests/mutants.txt is taken away; a test must see it.
mutants: test
	@scripts/mutants

setup_test:
	@scripts/setup build test

# ---- Checks that run nothing

OUR_C := $(wildcard darknet_mgpu/*.[ch] tests/*.[ch] scripts/*.[ch])
lint_tests = $(patsubst tests/%.c,$(OUT)/tests/%.o,$(wildcard tests/test_*.c))

setup_lint:
	@scripts/setup build test lint

lint: setup_lint
	@$(MAKE) --no-print-directory lint_now

lint_now: $(MODULE_OBJ) $(lint_tests)
	@for file in scripts/* .ci/run tests/*.sh; do \
	    [ -f $$file ] || continue; \
	    case $$(head -n 1 $$file) in \
	        '#!/bin/sh') sh -n $$file || exit 1 ;; \
	        '#!'*bash) bash -n $$file || exit 1 ;; \
	    esac; \
	done
	@test ! -e .clang-format || clang-format --dry-run -Werror $(OUR_C)
	@cppcheck --quiet --enable=warning,performance,portability --error-exitcode=1 --inline-suppr \
	    -Idarknet_mgpu darknet_mgpu
	@echo 'lint: nothing to say'
.PHONY: lint_now

# ---- Benchmarks

memory: stock build/stock/bench_step $(OUT)/bench_step
	@scripts/memory

bench: build/stock/bench_step build/stock_openmp/bench_step $(OUT)/bench_step $(OUT)/bench_reduce
	@scripts/bench

# ---- The data set and the demonstration

digits:
	@scripts/get_digits

demo: all stock digits
	@scripts/demo

detect: all stock
	@scripts/get_digits boxes
	@scripts/detect

# ---- Installing and cleaning

install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(PREFIX)/lib $(DESTDIR)$(PREFIX)/include
	install -m 755 darknet $(DESTDIR)$(PREFIX)/bin
	install -m 755 libdarknet.so $(DESTDIR)$(PREFIX)/lib
	install -m 644 libdarknet.a $(DESTDIR)$(PREFIX)/lib
	install -m 644 build/darknet/include/darknet.h darknet_mgpu/mgpu.h $(DESTDIR)$(PREFIX)/include

clean:
	rm -f darknet libdarknet.a libdarknet.so
	test ! -d build || find build -mindepth 1 -maxdepth 1 ! -name download -exec rm -rf {} +

distclean: clean
	rm -rf build
