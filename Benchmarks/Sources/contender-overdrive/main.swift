internal import BenchmarkKit

Harness.main(Queues.entries + Graphs.entries)
