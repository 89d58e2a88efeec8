#!/usr/bin/env python3
"""report_test — the page and the pictures of made-up results: the page needs nothing beside itself, says where Overdrive loses, and
no text of a picture lies on another or outside of it."""
import json
import pathlib
import re
import runpy
import sys
import tempfile
import unittest

REPORT = pathlib.Path(__file__).resolve().parents[2] / "Report" / "report.py"


def result(workers, times, cpus=None, rounds=range(3), parameters=None):
    """A result with one process in each round for each of {(workload, contender, workers): ns}."""
    runs = [{"workload": w, "contender": c, "workers": n, "round": r, "unit": "ns per fork", "units": 1, "samples": [t, 1.5 * t],
             "facts": {"cpus": 1.25, "rss_kib": 10240, **({"p99_ns": 7300} if w == "wake-hot" else {})},
             "others": 0, "load": 0, "parameters": (parameters or {}).get((w, c), {})} for r in rounds for (w, c, n), t in times.items()]
    return {"format": 1, "runs": runs, "fingerprint": {
        "cpu": "A CPU of some length & a name", "cpus": cpus or max(workers), "os": "An OS (of a name)", "kernel": "Linux 6", "date": "2026-01-02T03:04:05Z",
        "commit": "abcdef0", "workers": workers}}


def simulation():
    return {"costs": {"fork": 4.0, "attempt": [60.0, 160.0, 260.0]}, "checks": ["fib: measured 4, simulated 4"], "assumptions": ["nothing < all"],
            "rows": [{"job": job, "policy": policy, "workers": w, "nodes": n, "speedUp": 0.9 * w, "steals": 10, "failedSteals": 1, "wakes": 1,
                      "wakeLatencyMicroseconds": 5.0}
                     for job in ("tree", "loop", "flood") for policy in ("as the engine", "another") for w, n in ((1, 1), (8, 1), (64, 4), (1024, 8))]}


class Report(unittest.TestCase):
    drawn = {}

    def draw(self, name, made):
        """Each result is drawn once."""
        if name not in self.drawn:
            self.drawn[name] = self.draw_anew(made)
        return self.drawn[name]

    def draw_anew(self, made):
        """The page's text, and the pictures that were drawn for it, as matplotlib's figures."""
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        folder = tempfile.TemporaryDirectory()
        out = pathlib.Path(folder.name)
        notes = {"caveat": "The machine was quiet.", "counts": [{"workload": "fib", "contender": "overdrive", "workers": 2, "counts": {
                     "allocations": 1, "futexes": 2, "syscalls": 5, "stolen_forks": 5.1e-6, "parks": 0.03, "useful_wakes": 0}}]}
        for name, value in (("result", made), ("simulation", simulation()), ("notes", notes)):
            (out / f"{name}.json").write_text(json.dumps(value))
        (out / "counts.txt").write_text("[  PASSED  ] fork: 79 instructions each, at most 80\n1 passed, 0 failed\n")
        figures, close = [], plt.close
        plt.close = lambda figure=None: figures.append(figure) if hasattr(figure, "canvas") else None
        arguments, sys.argv = sys.argv, ["report", *(str(out / f"{n}") for n in ("result.json", "", "simulation.json", "notes.json")), "",
                                         str(out / "counts.txt")]
        try:
            runpy.run_path(str(REPORT))
        finally:
            sys.argv, plt.close = arguments, close
        self.assertTrue(all((out / f"{name}.png").stat().st_size > 10_000 for name in ("ratios", "spawn", "scaling", "simulation")))
        page = (out / "report.html").read_text()
        folder.cleanup()
        return page, figures

    def assert_legible(self, figures):
        for figure in figures:
            renderer = figure.canvas.get_renderer()
            legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend())]
            notes = [text for text in figure.texts if text.get_text()]
            below = [ax for ax in figure.axes if ax.get_visible()]
            boxes = [(item, item.get_window_extent(renderer)) for item in [*legends, *notes]] + [(ax, ax.get_tightbbox(renderer)) for ax in below]
            for i, (a, box) in enumerate(boxes):
                for b, other in boxes[i + 1:]:
                    inside = a in legends and a.axes is b or b in legends and b.axes is a
                    self.assertFalse(not inside and box.padded(-1).overlaps(other.padded(-1)), f"{a} lies on {b}")
            lowest = min(box.y0 for _, box in boxes if _ not in notes)
            for note in notes:
                gap = lowest - note.get_window_extent(renderer).y1
                self.assertLess(gap, 0.3 * figure.dpi, f"{note} stands far below")

    def two(self):
        times = {("fib", c, 2): t for c, t in (("overdrive", 2.0), ("libdispatch", 60.0), ("onetbb", 1.5), ("concurrency", 900.0))}
        return result([2], times | {("fib", "overdrive", 1): 4.0, ("fib", "serial", 1): 1.0, ("skynet", "overdrive", 2): 2.0, ("skynet", "overdrive", 1): 4.2,
                                    ("skynet", "libdispatch", 2): 8.0})

    def test_the_page_needs_nothing_beside_itself(self):
        page, _ = self.draw("two", self.two())
        self.assertEqual(re.findall(r'(?:src|href)="?(?!#)[^" >]+', re.sub(r'xmlns:\w+="[^"]*"', "", page)), [])
        self.assertNotIn("<script", page)
        self.assertIn("A CPU of some length &amp; a name", page)

    def test_losses_stand_as_plainly_as_wins(self):
        page, _ = self.draw("two", self.two())
        self.assertIn("<li>fib: oneTBB 1.5, Overdrive 2 ns per fork (0.75×)", page)
        self.assertIn("<li>fib: serial 1, Overdrive 2 ns per fork (0.5×)", page)
        self.assertNotIn("<li>fib: libdispatch", page)

    def test_a_ratio_is_the_median_of_rounds_that_both_have_and_a_bar_all_of_them(self):
        made = self.two()
        made["runs"] += result([2], {("fib", "overdrive", 2): 1.6}, rounds=[3])["runs"]  # without a counterpart
        made["runs"] += result([2], {("fib", "overdrive", 2): 2.0, ("fib", "onetbb", 2): 2.4, ("fib", "concurrency", 2): 600}, rounds=[4])["runs"]
        made["runs"] += result([2], {("skynet", "openmp", 2): 5.0}, rounds=[0, 1])["runs"]
        page, figures = self.draw_anew(made)
        drawn = [tuple(round(float(x), 3) for x in line.get_xdata()) for line in figures[0].axes[0].lines]
        for marks in ((30.0,), (30.0, 30.0), (0.75,), (0.75, 1.2), (450.0,), (300.0, 450.0)):
            self.assertIn(marks, drawn)
        self.assertNotIn("<li>fib: oneTBB", page)  # it lost a round
        self.assertIn("<td class=n>1.5 · 0.75–1.2×<", page)
        self.assertIn("2.00×", [text.get_text() for figure in figures for ax in figure.axes for text in ax.texts])  # the speed-up: 4.0 to 2.0
        self.assertIn("<td class=n>5<", page)  # two rounds are no ratio

    def test_more_workers_than_cpus_have_no_speed_up(self):
        times = {("fib", "overdrive", n): 4.0 / n for n in (1, 2, 4)} | {("fib", "libdispatch", 4): 30.0}
        page, figures = self.draw_anew(result([1, 2, 4], times, cpus=2))
        self.assertIn("There are 2 CPUs: of 4 workers no speed-up is drawn.", page)
        self.assertIn("These are more workers than CPUs.", page)
        self.assertIn("times as fast with 2 workers as with 1", page)
        page, _ = self.draw("two", self.two())
        self.assertNotIn("no speed-up is drawn", page)

    def test_memory_tails_and_smaller_jobs_are_told(self):
        times = {("fib", "overdrive", 2): 2.0, ("fib", "overdrive", 1): 4.0, ("fib", "concurrency", 2): 900.0, ("wake-hot", "overdrive", 2): 1.0}
        page, _ = self.draw_anew(result([2], times, parameters={("fib", "overdrive"): {"n": 30}, ("fib", "concurrency"): {"n": 20}}))
        self.assertIn("<li>Swift Concurrency: fib (n=20 instead of n=30)", page)
        self.assertIn("MiB, medians:</p><table><tr><th>workload<th><th>Overdrive<th>Swift Concurrency</tr><tr><td>fib<td><td>10<td>10</tr>", page)
        self.assertIn("µs, medians:</p><table><tr><th>workload<th><th>Overdrive<th>Swift Concurrency</tr><tr><td>wake-hot<td><td>7.3<td>–</tr></table>", page)

    def test_the_simulation_says_what_it_is_and_assumes(self):
        page, _ = self.draw("two", self.two())
        for sentence in ("A model, not a measurement", "fib: measured 4, simulated 4", "nothing &lt; all", "1,024 workers, 8 nodes", "attempt 60 / 160 / 260"):
            self.assertIn(sentence, page)

    def test_medians_and_cpus_stand_beside_minima(self):
        page, _ = self.draw("two", self.two())
        self.assertIn("<td>75 · 1.2", page)

    def test_counts_are_there(self):
        page, _ = self.draw("two", self.two())
        self.assertIn("<td>1 · 2 · 3 · –", page)
        self.assertIn("fork: 79 instructions each", page)

    def test_what_is_rare_is_told_as_once_in_so_many(self):
        page, _ = self.draw("two", self.two())
        self.assertIn("<tr><td>fib<td>fork<td>–<td>–<td>1 in 200,000<td>0<td>–<td>0.03", page)

    def test_nothing_lies_on_anything_with_two_workers(self):
        page, figures = self.draw("two", self.two())
        self.assertIn("times as fast with 2 workers as with 1", page)
        self.assert_legible(figures)

    def test_more_workers_are_curves_beside_the_others(self):
        times = {(w, c, n): t / n ** 0.9 for w in ("fib", "skynet", "matmul", "uts") for c, t in (("overdrive", 4.0), ("libdispatch", 60.0), ("onetbb", 9.0))
                 for n in (1, 2, 4, 8)}
        page, figures = self.draw("many", result([1, 2, 4, 8], times | {("fib", "serial", 1): 2.0}))
        self.assertIn("Speed-up, measured", page)
        self.assertIn("times as fast as serial", page)
        self.assert_legible(figures)


if __name__ == "__main__":
    done = unittest.main(exit=False, verbosity=0).result
    bad = len(done.failures) + len(done.errors)
    print(f"{done.testsRun - bad} passed, {bad} failed")
    sys.exit(bad > 0)
