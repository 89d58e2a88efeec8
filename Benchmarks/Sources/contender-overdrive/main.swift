internal import BenchmarkKit

Forks.prepare()
Harness.main(Shapes<Forks>.trees + Shapes<Forks>.loops + Queues.entries + Graphs.entries)
