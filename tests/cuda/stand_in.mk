# stand_in.mk: the CUDA stand-in. Include it with
#   FAKE_CUDA_OUT    the folder for its objects and libcuda_stand_in.a
#   FAKE_CUDA_FLAGS  further flags (a sanitizer's)
# It defines FAKE_CUDA_LIB, what to link with (after the objects, with -lstdc++ -pthread),
# FAKE_CUDA_INCLUDE, FAKE_NVCC, and FAKE_CUDA_TEST, the test of the stand-in itself.

FAKE_CUDA_DIR := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
FAKE_CUDA_INCLUDE := $(FAKE_CUDA_DIR)/include
FAKE_CUDA_LIB := $(FAKE_CUDA_OUT)/libcuda_stand_in.a
FAKE_NVCC := $(FAKE_CUDA_DIR)/nvcc
FAKE_CUDA_CXXFLAGS := -std=c++17 -O2 -fPIC -pthread -Wall -Wextra -Werror -ffp-contract=off \
    -ftls-model=initial-exec -I$(FAKE_CUDA_INCLUDE) $(FAKE_CUDA_FLAGS)
FAKE_CUDA_OBJ := $(patsubst $(FAKE_CUDA_DIR)/%.cpp,$(FAKE_CUDA_OUT)/fake_cuda/%.o, \
    $(wildcard $(FAKE_CUDA_DIR)/*.cpp))

$(FAKE_CUDA_OBJ): $(FAKE_CUDA_OUT)/fake_cuda/%.o: $(FAKE_CUDA_DIR)/%.cpp $(FAKE_CUDA_DIR)/stand_in.mk
	@echo 'CXX $@'
	@mkdir -p $(@D)
	@$(CXX) $(FAKE_CUDA_CXXFLAGS) -MMD -MP -c $< -o $@

$(FAKE_CUDA_LIB): $(FAKE_CUDA_OBJ)
	@echo 'AR $@'
	@rm -f $@
	@$(AR) rcs $@ $(FAKE_CUDA_OBJ)

FAKE_CUDA_TEST := $(FAKE_CUDA_OUT)/tests/test_stand_in

$(FAKE_CUDA_TEST).o: $(FAKE_CUDA_DIR)/test_stand_in.cu $(FAKE_NVCC)
	@echo 'NVCC $@'
	@mkdir -p $(@D)
	@$(FAKE_NVCC) -g -MMD -MP --compiler-options '-Wall -Wextra -Werror $(FAKE_CUDA_FLAGS)' -c $< -o $@

$(FAKE_CUDA_TEST): $(FAKE_CUDA_TEST).o $(FAKE_CUDA_LIB)
	@$(CXX) $(FAKE_CUDA_FLAGS) $^ -o $@ -lcmocka -pthread

-include $(FAKE_CUDA_OBJ:.o=.d) $(FAKE_CUDA_TEST).d
