# model.mk — the model checker and its scenarios; included by the Makefile, or used alone:
#   make -f Tests/Model/model.mk model-test
#
# The explorer is C++ without dependencies. A scenario is compiled by clang with the thread
# sanitizer's instrumentation and linked against the explorer instead of the sanitizer.

MODEL           := .build/model
MODEL_CC        ?= $(or $(CC_CLANG),$(firstword $(shell command -v clang) $(dir $(realpath $(shell command -v swift)))clang))
MODEL_CXX       ?= g++
MODEL_NICE      ?= nice -n 15
MODEL_TIME      ?= 170
MODEL_RANDOM    ?= 150
MODEL_CXXFLAGS  := -std=c++17 -O2 -g -Wall -Wextra -Wno-missing-field-initializers \
                   -ITests/Model/include -ITests/Model/explorer -ITests/Model/litmus
MODEL_CFLAGS    := -std=c11 -D_GNU_SOURCE -O1 -gline-tables-only -Wall -Wextra -Wconversion -Werror -fsanitize=thread \
                   -DODI_MODEL -include model/globals.h $(MODEL_INCLUDE_FIRST) \
                   -ITests/Model/include -ITests/Model -ICScheduler -ICScheduler/include

MODEL_EXPLORER  := $(patsubst Tests/Model/%.cc,$(MODEL)/%.o,$(wildcard Tests/Model/explorer/*.cc))
MODEL_LITMUS    := $(patsubst Tests/Model/%.cc,$(MODEL)/%.o,$(wildcard Tests/Model/litmus/*.cc))
MODEL_SCENARIOS := $(patsubst Tests/Model/scenarios/%.c,$(MODEL)/bin/%,$(wildcard Tests/Model/scenarios/*.c))

# Explored to their ends all the same, but not in every change's check.
MODEL_LARGE     := deque_bar idle_stop idle_two_workers share_helpers_helper stop_and_submit_start_workers stop_starts_a_worker_against_submit lock_three locked_three lock_is_handed_to_one_of_two lock_is_handed_after_a_wake_in_vain \
                   idle_search_begins idle_counted lock_is_handed_over lock_mixed stop_now_flag_against_submit stop_now_against_submit two_arm_against_keep park_beside_a_search

.PHONY: model model-litmus model-test model-quick model-weaken

model: $(MODEL)/bin/litmus $(MODEL_SCENARIOS) ## build the model checker and its scenarios

# Litmus tests, random programs against the enumeration, then every scenario to its end.
model-test: model-litmus $(MODEL_SCENARIOS) ## explore every scenario
	@$(MAKE) --no-print-directory -f Tests/Model/model.mk model-quick MODEL_LARGE=

# The same without the large ones. Closes on a line that counts the scenarios.
model-quick: model-litmus $(MODEL_SCENARIOS) ## explore every scenario but the largest
	@passed=0; failed=0; \
	for binary in $(MODEL_SCENARIOS); do for scenario in $$($$binary --list); do \
		case " $(MODEL_LARGE) " in *" $$scenario "*) continue ;; esac; \
		if $(MODEL_NICE) $$binary $$scenario --time-limit $(MODEL_TIME); \
		then passed=$$((passed + 1)); else failed=$$((failed + 1)); fi; \
	done; done; echo "$$passed passed, $$failed failed"; test $$failed = 0

model-litmus: $(MODEL)/bin/litmus ## test the model checker
	@$(MODEL_NICE) $< --quiet --random $(MODEL_RANDOM)

# Each ordered operation, one step weaker, one at a time.
model-weaken: $(MODEL_SCENARIOS) ## weaken each ordered operation and expect a failing scenario
	@MODEL_BIN=$(MODEL)/bin Tests/Model/weaken

$(MODEL)/%.o: Tests/Model/%.cc
	@mkdir -p $(@D)
	@$(MODEL_NICE) $(MODEL_CXX) $(MODEL_CXXFLAGS) -MMD -MP -c $< -o $@

$(MODEL)/scenarios/%.o: Tests/Model/scenarios/%.c
	@mkdir -p $(@D)
	@$(MODEL_NICE) $(MODEL_CC) $(MODEL_CFLAGS) -MMD -MP -c $< -o $@

$(MODEL)/bin/litmus: $(MODEL_LITMUS) $(filter-out %/explorer/main.o,$(MODEL_EXPLORER))
	@mkdir -p $(@D)
	@$(MODEL_CXX) -no-pie $^ -o $@

$(MODEL)/bin/%: $(MODEL)/scenarios/%.o $(MODEL_EXPLORER)
	@mkdir -p $(@D)
	@$(MODEL_CXX) -no-pie $^ -o $@

.SECONDARY: $(MODEL_EXPLORER) $(MODEL_LITMUS)
-include $(MODEL_EXPLORER:.o=.d) $(MODEL_LITMUS:.o=.d) $(wildcard $(MODEL)/scenarios/*.d)
