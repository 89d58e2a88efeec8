internal import BenchmarkKit

Forks.prepare()
Harness.main(Shapes<Forks>.trees + Queues.entries + Graphs.entries)
