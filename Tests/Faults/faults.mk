# faults.mk — the engine under faults; included by the Makefile, or used alone:
#   make -f Tests/Faults/faults.mk run-faults                   the quick run
#   make -f Tests/Faults/faults.mk run-faults FAULT_RUNS=100 FAULT_RESULTS=.build/faults/results
#
# The engine is compiled here once more, with its invariants on, and linked so that its calls
# for threads, memory and time pass through Tests/Faults/inject.c first.

FAULTS         := .build/faults
FAULT_CC       ?= $(or $(CC_CLANG),$(firstword $(shell command -v clang) $(dir $(realpath $(shell command -v swift)))clang))
FAULT_NICE     ?= nice -n 15
FAULT_RUNS     ?= 2
FAULT_JOBS     ?= 2
FAULT_RESULTS  ?=
FAULT_CFLAGS   := -std=c11 -O2 -g -fno-omit-frame-pointer -fno-builtin-malloc -D_GNU_SOURCE -DODI_CHECKED \
                  -ICScheduler -ICScheduler/include -ITests -Wall -Wextra -Wconversion -Werror
FAULT_WRAPS    := pthread_create malloc calloc realloc aligned_alloc mmap mprotect numa_available mbind \
                  syscall clock_gettime clock_nanosleep
FAULT_LIBS     := -pthread -lurcu-memb -lurcu-common -lnuma

FAULT_SOURCES  := $(sort $(wildcard Tests/Faults/*.c)) $(shell find CScheduler -name '*.c' | sort)
FAULT_OBJECTS  := $(FAULT_SOURCES:%.c=$(FAULTS)/%.o)

.PHONY: build-faults run-faults

build-faults: $(FAULTS)/faults

run-faults: $(FAULTS)/faults
	@$(FAULT_NICE) $< --runs $(FAULT_RUNS) --jobs $(FAULT_JOBS) $(if $(FAULT_RESULTS),--resume $(FAULT_RESULTS))

$(FAULTS)/%.o: %.c
	@mkdir -p $(@D)
	@$(FAULT_NICE) $(FAULT_CC) $(FAULT_CFLAGS) -MMD -MP -c $< -o $@

$(FAULTS)/faults: $(FAULT_OBJECTS)
	@$(FAULT_CC) -fuse-ld=lld $(FAULT_WRAPS:%=-Wl,--wrap=%) $^ $(FAULT_LIBS) -o $@

-include $(FAULT_OBJECTS:.o=.d)
