# faults.mk — the engine under faults; for the Makefile to include after its flavours.
#   make run-faults                   the quick run
#   make run-faults FAULT_RUNS=100 FAULT_RESULTS=.build/faults/results
#
# The engine as the tests have it, with its invariants on, linked so that its calls for threads, memory and
# time pass through Tests/Faults/inject.c first.

FAULTS         := .build/faults
FAULT_NICE     ?= nice -n 15
FAULT_RUNS     ?= 2
FAULT_JOBS     ?= 2
FAULT_RESULTS  ?=
FAULT_WRAPS    := pthread_create malloc calloc realloc aligned_alloc mmap mprotect numa_available mbind \
                  syscall clock_gettime clock_nanosleep
FAULT_SOURCES  := $(sort $(wildcard Tests/Faults/*.c))
FAULT_OBJECTS  := $(FAULT_SOURCES:%.c=$(C)/plain/%.o) $(ENGINE:%.c=$(C)/plain/%.o)

.PHONY: build-faults run-faults

build-faults: $(FAULTS)/faults ## build the fault injector

run-faults: $(FAULTS)/faults ## run workloads while the system refuses things
	@$(FAULT_NICE) $< --runs $(FAULT_RUNS) --jobs $(FAULT_JOBS) $(if $(FAULT_RESULTS),--resume $(FAULT_RESULTS))

$(FAULTS)/faults: $(FAULT_OBJECTS)
	@mkdir -p $(@D)
	@$(CC) $(LDFLAGS) $(FAULT_WRAPS:%=-Wl,--wrap=%) $^ $(filter-out -lcmocka,$(LIBS)) -o $@

-include $(FAULT_SOURCES:%.c=$(C)/plain/%.d)
