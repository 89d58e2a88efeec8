# The C engine for arm64: cross-compiled, its tests under the emulator, and the instructions that
# carry its memory orders. Stands alone: make -f Tests/Arm64/arm64.mk check
#
# The emulator runs on a machine with stronger ordering, so a test that passes there says that
# the code works on arm64, not that its orders suffice: that is what the explorer of executions
# and the golden instructions are for.

ARM64_CC    := aarch64-linux-gnu-gcc
ARM64       := .build/arm64
ARM64_LIB   := $(ARM64)/sysroot/usr/lib/aarch64-linux-gnu
# gcc 12 takes an atomic operation on what may be NULL for one that overflows it.
ARM64_FLAGS := -std=c11 -g -O2 -fno-builtin-malloc -D_GNU_SOURCE -DODI_CHECKED -DEMULATED \
               -ICScheduler -ICScheduler/include -ITests \
               -isystem $(ARM64)/sysroot/usr/include -isystem $(ARM64)/sysroot/usr/include/aarch64-linux-gnu \
               -Wall -Wextra -Wconversion -Werror -Wno-stringop-overflow
ARM64_LIBS  := -L$(ARM64_LIB) -Wl,-rpath-link,$(ARM64_LIB) -pthread -lurcu-memb -lurcu-common -lnuma -lcmocka

ARM64_ENGINE  := $(sort $(shell find CScheduler -name '*.c'))
ARM64_OBJECTS := $(ARM64_ENGINE:%.c=$(ARM64)/obj/%.o)
# Left to other machines: topology_system looks at the machine itself, which the emulator fakes,
# fork_test forks processes with threads, at which user-mode emulation is known to hang, and the
# memory that resources_test measures is the emulator's as well; gate_within_test is of Swift's closures, which gcc
# does not call.
ARM64_TESTS   := $(filter-out %/topology_system.c %/fork_test.c %/resources_test.c %/gate_within_test.c,$(sort $(wildcard Tests/Engine/*_test.c Tests/Engine/topology_*.c)))
ARM64_BINS    := $(ARM64_TESTS:Tests/%.c=$(ARM64)/bin/%) $(ARM64)/bin/Arm64/stress

.PHONY: check golden unit sysroot update
.DELETE_ON_ERROR:
.SECONDARY:

check: sysroot
	@$(MAKE) -f Tests/Arm64/arm64.mk --no-print-directory $(ARM64_BINS)
	@Tests/Arm64/run $(ARM64_BINS)

golden:
	@Tests/Arm64/golden

update:
	@Tests/Arm64/golden --update

sysroot:
	@Tests/Arm64/prerequisites $(ARM64)

$(ARM64)/obj/%.o: %.c
	@mkdir -p $(@D)
	@$(NICE) $(ARM64_CC) $(ARM64_FLAGS) -MMD -MP -c $< -o $@

# A test that includes one of the engine's files takes the others from the archive.
$(ARM64)/engine.a: $(ARM64_OBJECTS)
	@rm -f $@
	@ar rcs $@ $^

$(ARM64)/bin/%: $(ARM64)/obj/Tests/%.o $(ARM64)/engine.a
	@mkdir -p $(@D)
	@$(NICE) $(ARM64_CC) $^ $(ARM64_LIBS) -o $@

-include $(ARM64_OBJECTS:.o=.d) $(ARM64_TESTS:%.c=$(ARM64)/obj/%.d)
