# numa.mk — make test-numa, make test-numa-full: the engine on emulated machines with NUMA nodes.
#
# For the Makefile to include after its flavours. Needs QEMU, a static busybox and a kernel image;
# Tests/Numa/equip installs or unpacks what is missing, and says so.

NUMA_PLACEMENT := $(C)/plain/bin/Numa/placement_test
# Last on each machine, which it takes apart and puts together again.
NUMA_HOTPLUG   := $(C)/plain/bin/Numa/hotplug_test
# What reads text only is the same on every machine.
NUMA_ALL       := $(filter-out %/topology_corpus %/topology_parsers %/topology_limits,$(programs-plain))
# A minute in all; the long ones are for the full run.
NUMA_QUICK     := $(filter %/os_test %/pool_test %/worker_test %/topology_machine %/topology_placement \
                  %/topology_system,$(NUMA_ALL))

.PHONY: test-numa test-numa-full

test-numa: prerequisites ## run tests on emulated NUMA machines
	@$(MAKE) --no-print-directory $(NUMA_PLACEMENT) $(NUMA_QUICK) $(NUMA_HOTPLUG)
	@$(NICE) Tests/Numa/run $(NUMA_PLACEMENT) $(NUMA_QUICK) $(NUMA_HOTPLUG)

test-numa-full: prerequisites ## run all tests on emulated NUMA machines
	@$(MAKE) --no-print-directory $(NUMA_PLACEMENT) $(NUMA_ALL) $(NUMA_HOTPLUG)
	@$(NICE) Tests/Numa/run --full $(NUMA_PLACEMENT) $(NUMA_ALL) $(NUMA_HOTPLUG)

-include $(C)/plain/Tests/Numa/placement_test.d $(C)/plain/Tests/Numa/hotplug_test.d
