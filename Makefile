# Overdrive's commands: make run · make test · make verify · make bench · make docs. Each installs what it lacks.
#
# The C engine's tests are compiled here, without the package manager, once for each flavour:
# plain (optimised, invariants on), tsan, asan (with ubsan). Objects: .build/c/FLAVOUR/.

SHELL    := /bin/bash
CC       := $(firstword $(shell command -v clang) $(dir $(realpath $(shell command -v swift)))clang)
SWIFT    := swift
NICE     ?=
C        := .build/c
LOGS     := .build/test-logs
TALLY    := $(LOGS)/tally

FLAVOURS := plain tsan asan
ENGINE   := $(shell find CScheduler -name '*.c' | sort)
UNIT     := $(sort $(wildcard Tests/Engine/*_test.c Tests/Engine/topology_*.c))
STRESS   := $(sort $(wildcard Tests/Stress/*.c))
ARCHIVED := $(sort $(wildcard Tests/Archive/*.c))
DUMP     := Tests/Support/dump.c
RANDOM   := $(sort $(wildcard Tests/Random/*.c))

# -fno-builtin-malloc: tests make malloc fail, which the optimiser takes for impossible.
CFLAGS       := -std=c11 -gline-tables-only -fno-omit-frame-pointer -fno-builtin-malloc -D_GNU_SOURCE -DODI_CHECKED \
                -ICScheduler -ICScheduler/include -ITests -Wall -Wextra -Wconversion -Werror
CXXFLAGS     := -std=c++17 -g1 -fno-omit-frame-pointer -ICScheduler/include -Wall -Wextra -Werror
LDFLAGS      := -fuse-ld=lld
CFLAGS_plain := -O2
CFLAGS_tsan  := -O1 -fsanitize=thread
CFLAGS_asan  := -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
LIBS         := -pthread -lurcu-memb -lurcu-common -lnuma -lcmocka

# The Swift toolchain's ThreadSanitizer knows libdispatch, and so wants it at hand.
SWIFT_LIBS   := $(dir $(realpath $(shell command -v swift)))../lib/swift/linux
LIBS_tsan    := -L$(SWIFT_LIBS) -Wl,-rpath,$(realpath $(SWIFT_LIBS)) -ldispatch -lBlocksRuntime

# How much of the stress is every test run's: without a sanitizer it has twelve times the jobs. Two mutants of the museum
# take all the rings of `ages`, and none more of the others.
SCALE_plain := 0.35
SCALE_tsan  := 0.35
SCALE_asan  := 0.35
UNSCALED    := %/ages

# The engine's unit tests check; they need no speed, and compile in a third of the time without optimization. The engine,
# the stress programs and tests that compute keep their flavour's.
COMPUTING := Tests/Engine/gate_states_test Tests/Engine/topology_corpus
CHECKING  := $(filter-out $(COMPUTING),$(UNIT:%.c=%) $(ARCHIVED:%.c=%))

# Seconds of processor time of random programs.
RANDOM_plain := 12
RANDOM_tsan  := 6
RANDOM_asan  := 6

# How many of the engine's test programs run at once.
LANES := 2

export CC TALLY
export UBSAN_OPTIONS ?= print_stacktrace=1
export TSAN_OPTIONS  ?= halt_on_error=1

.PHONY: help run dist test verify test-c test-swift test-counts prerequisites clean $(FLAVOURS:%=build-%)
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ' ## ' '/^[a-z][^=]*:.* ## / { sub(/:.*/, "", $$1); printf "%-34s %s\n", $$1, $$2 }' $(sort $(filter %Makefile %.mk,$(MAKEFILE_LIST)))
	@printf '%-34s %s\n' '$(FLAVOURS:%=build-%)' 'build the engine'"'"'s test programs in .build/c/FLAVOUR/bin'

prerequisites: ## install missing Debian packages
	@scripts/prerequisites

# ---- the job ----------------------------------------------------------------------------------

TREE := /usr/lib

run: prerequisites ## checksum /usr/lib with Overdrive, libdispatch and one thread (TREE=PATH)
	@$(NICE) scripts/build-command
	@scripts/run-checksum $(TREE)

# The command for machines without Swift: .build/dist/overdrive.
dist: ## build the command as one static file: .build/dist/overdrive
	@$(NICE) scripts/dist

# ---- for who uses the command ------------------------------------------------------------------

PREFIX ?= /usr/local
export PREFIX DESTDIR

.PHONY: install uninstall

# The command, its manual, what shells complete and what `overdrive preload` loads, under DESTDIR and PREFIX.
install: prerequisites ## install the command under PREFIX (default /usr/local)
	@$(NICE) scripts/install

uninstall: ## remove the installed command
	@scripts/install --uninstall

# What has changed in the public API since it was stored: docs/versioning.md.
.PHONY: api api-store

api: prerequisites ## compare the public API with the stored baseline
	@$(NICE) scripts/api

api-store: prerequisites ## store the public API as the baseline
	@$(NICE) scripts/api --store

# The libraries' documentation as a site, in .build/docs.
.PHONY: docs

docs: prerequisites ## build the documentation site in .build/docs
	@$(NICE) scripts/docs

# ---- the engine's own tests -------------------------------------------------------------------

define flavour
$(C)/$(1)/%.o: %.c | prerequisites
	@mkdir -p $$(@D)
	@$(NICE) $$(CC) $$(CFLAGS) $$(CFLAGS_$(1)) $$(if $$(filter $$*,$$(CHECKING)),-O0) -MMD -MP -c $$< -o $$@

$(C)/$(1)/engine.a: $(patsubst %.c,$(C)/$(1)/%.o,$(DUMP) $(ENGINE))
	@rm -f $$@ && ar rcs $$@ $$^

# As a program of somebody else's would be: only what it asks for is taken from the archive.
$(C)/$(1)/bin/%: $(C)/$(1)/Tests/%.o $(C)/$(1)/engine.a
	@mkdir -p $$(@D)
	@$(NICE) $$(CC) $$(LDFLAGS) $$(CFLAGS_$(1)) $$^ $$(LIBS) $$(LIBS_$(1)) -o $$@

# One program of several files.
$(C)/$(1)/bin/Random/programs: $(RANDOM:%.c=$(C)/$(1)/%.o) $(C)/$(1)/engine.a
	@mkdir -p $$(@D)
	@$(NICE) $$(CC) $$(LDFLAGS) $$(CFLAGS_$(1)) $$^ $$(LIBS) $$(LIBS_$(1)) -o $$@

# overdrive.hpp: by GCC where no sanitizer is asked for, else by clang, which also reads it without exceptions.
cxx-$(1) := $(if $(filter plain,$(1)),g++,$(CC)++)
$(C)/$(1)/bin/Engine/overdrive_hpp_test: Tests/Engine/overdrive_hpp_test.cpp $(wildcard CScheduler/include/*) $(C)/$(1)/engine.a
	@mkdir -p $$(@D)
	@$(NICE) $$(cxx-$(1)) $(CXXFLAGS) -fno-exceptions -fsyntax-only $$<
	@$(NICE) $$(cxx-$(1)) $(CXXFLAGS) $(CFLAGS_$(1)) $(if $(filter plain,$(1)),,$(LDFLAGS)) $$< $(C)/$(1)/engine.a $(LIBS) $(LIBS_$(1)) -o $$@

programs-$(1) := $(C)/$(1)/bin/Engine/overdrive_hpp_test $(UNIT:Tests/%.c=$(C)/$(1)/bin/%) $(if $(filter plain,$(1)),$(ARCHIVED:Tests/%.c=$(C)/$(1)/bin/%))
stress-$(1)   := $(STRESS:Tests/%.c=$(C)/$(1)/bin/%)
random-$(1)   := $(C)/$(1)/bin/Random/programs
build-$(1): $$(programs-$(1)) $$(stress-$(1)) $$(random-$(1))
.SECONDARY: $(patsubst %.c,$(C)/$(1)/%.o,$(DUMP) $(ENGINE) $(UNIT) $(STRESS) $(ARCHIVED) $(RANDOM))
-include $(patsubst %.c,$(C)/$(1)/%.d,$(DUMP) $(ENGINE) $(UNIT) $(STRESS) $(ARCHIVED) $(RANDOM))
endef
$(foreach f,$(FLAVOURS),$(eval $(call flavour,$(f))))

# A piece of the Swift layer on the engine's own objects, without the package: for the museum.
SHARE := Tests/Museum/checks/share.swift $(addprefix Sources/OverdriveCore/Parallel/,Share.swift Doors.swift)

$(C)/plain/bin/Museum/checks/share: $(SHARE) $(ENGINE:%.c=$(C)/plain/%.o)
	@mkdir -p $(@D)
	@$(NICE) $(SWIFT)c -O -parse-as-library -module-name Museum -I CScheduler/include $(SHARE) \
	    $(filter %.o,$^) -Xclang-linker -fuse-ld=lld $(filter-out -lcmocka -pthread,$(LIBS)) -o $@

# ---- all that gates ---------------------------------------------------------------------------

# What sleeps and waits is tested while what only computes is compiled and counted, at a lower priority. Swift's tests
# follow C's: tests of a scheduler disturb each other.
test: prerequisites ## run the C and Swift tests and check the counts
	@rm -rf $(LOGS) && mkdir -p $(LOGS)
	@status=0; \
	setsid nice -n 10 scripts/run-swift-tests --build $(LOGS) & built=$$!; \
	setsid nice -n 19 scripts/bench-counts >$(LOGS)/counts.log 2>&1 & counted=$$!; \
	trap 'kill -- -$$built -$$counted 2>/dev/null' EXIT; \
	TIMEFORMAT="took test-c: %R s, CPU %U + %S"; \
	time $(MAKE) --no-print-directory test-c || status=1; \
	if wait $$built; then scripts/run-swift-tests --built $(LOGS) || status=1; else status=1; fi; \
	wait $$counted || status=1; \
	cat $(LOGS)/counts.log; \
	awk '{ p += $$1; f += $$2 } END { printf "%d passed, %d failed\n", p, f; exit f > 0 }' $(TALLY) || status=1; \
	exit $$status

# The program that sleeps most begins. ThreadSanitizer has nothing to see where there is one thread, and no sanitizer in functions of numbers alone.
ONE_THREAD := $(addprefix $(C)/tsan/bin/Engine/,gate_states_test loop_clock_test regression_injector_test timer_wheel_test topology_corpus topology_limits) \
              $(C)/asan/bin/Engine/gate_states_test

test-c: prerequisites ## run the engine's tests: plain, ThreadSanitizer, AddressSanitizer
	@mkdir -p $(LOGS)
	@status=0; TIMEFORMAT="took building: %R s, CPU %U + %S"; \
	time $(MAKE) --no-print-directory -k $(if $(findstring jobserver,$(MAKEFLAGS)),,-j$(shell nproc)) \
	    $(FLAVOURS:%=build-%) || { status=1; echo "0 1" >>$(TALLY); }; \
	LANES=$(LANES) scripts/run-tests $(LOGS) \
	    $(foreach f,$(FLAVOURS),RANDOM_CPU=$${RANDOM_CPU:-$(RANDOM_$(f))} $(random-$(f))) \
	    $(foreach f,$(FLAVOURS),$(filter-out $(ONE_THREAD),$(programs-$(f))) $(filter $(UNSCALED),$(stress-$(f)))) \
	    $(foreach f,$(FLAVOURS),STRESS_SCALE=$${STRESS_SCALE:-$(SCALE_$(f))} $(filter-out $(UNSCALED),$(stress-$(f)))) || status=1; \
	exit $$status

test-swift: prerequisites ## run the Swift tests
	@mkdir -p $(LOGS)
	@scripts/run-swift-tests $(LOGS)

# Counts per fork and per closure, each with a limit: docs/benchmarks.md.
test-counts: prerequisites ## check allocations and instructions per fork and closure
	@scripts/bench-counts

# ---- the proof: docs/verification.md ------------------------------------------------------------

include Tests/Model/model.mk
include Tests/Numa/numa.mk
include Tests/Faults/faults.mk

.PHONY: verify verify-quick verify-full museum mutation bench

verify-quick verify verify-full: prerequisites ## run the verification at growing sizes
	@scripts/verify $(patsubst verify-%,--%,$(filter-out verify,$@))

print-%: # what the Makefile calls it: for Tests/Mutation/run
	@echo $($*)

# Mutants that nobody chose, four of five of the engine, the others of the Swift layers: docs/verification.md.
mutation: prerequisites ## test the tests with N random line changes (default 300)
	@Tests/Mutation/run --count $$(($(or $(N),300) * 4 / 5)); engine=$$?; \
	 Tests/Mutation/run --swift --count $$(($(or $(N),300) / 5)) && exit $$engine

museum: prerequisites ## put known bugs back and expect a failing check (ONLY=ID)
	@Tests/Museum/run $(if $(ONLY),--only "$(ONLY)")

# ---- Overdrive beside others on this machine: docs/benchmarks.md -----------------------------------

.PHONY: bench-full bench-static bench-report bench-record bench-store bench-micro

bench: prerequisites ## measure the headline table, about six minutes (BENCH=OPTIONS)
	@$(NICE) scripts/bench $(BENCH)

bench-full: prerequisites ## measure every workload at full size, about an hour
	@$(NICE) scripts/bench --full $(BENCH)

# The page with the charts of the last result.
bench-report: ## write the last result as a page with charts
	@scripts/bench-report

# What the README shows: two runs, one after the other, kept with what they agree in. A quarter of an hour of a machine that does nothing else.
bench-record: prerequisites ## measure twice and store both runs in docs/benchmarks
	@$(NICE) scripts/bench --fresh --out .build/bench/once $(BENCH)
	@$(NICE) scripts/bench --fresh --out .build/bench/again $(BENCH)
	@scripts/bench-store .build/bench/once.json .build/bench/once.json .build/bench/again.json

# Keeps the last result in the repository, with the README's table and pictures.
bench-store: ## store the last result in docs/benchmarks and README.md
	@scripts/bench-store

# Single paths by ordo-one's harness; its baselines are in docs/benchmarks.md.
bench-micro: prerequisites ## measure single paths
	@$(NICE) swift package --package-path Benchmarks/Micro benchmark $(BENCH)

# A folder to carry to a machine without a toolchain.
bench-static: prerequisites ## build a benchmark folder for a machine without Swift
	@$(NICE) scripts/bench-static

clean: ## remove the C objects and the tests' logs
	@rm -rf .build/c .build/model .build/verify $(LOGS)
