#!/usr/bin/env python3
"""report RESULT.json OUT SIMULATION.json NOTES.json [REPEATED.txt] — one page with the charts of a result, and the pictures of the README.

Writes OUT/report.html, which needs nothing beside itself, and OUT/ratios.png, OUT/spawn.png and OUT/scaling.png.
A ratio is a contender's minimum over Overdrive's on the same machine in the same run: right of the line Overdrive is
faster, left of it the other is.
"""
import base64
import html
import io
import json
import pathlib
import sys
import textwrap

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS = {
    "overdrive": "#d1495b", "overdrive-c": "#8d2f3d", "libdispatch": "#00798c", "libdispatch-async": "#66a5ad",
    "concurrency": "#edae49", "operations": "#6a4c93", "nio": "#9c89b8", "threads": "#8d99ae", "onetbb": "#1d3557",
    "openmp": "#588157", "rayon": "#a47148", "go": "#4cc9f0", "serial": "#30343f", "serial-cxx": "#7d8597",
}
# Shapes too, for those who do not see the colours apart.
MARKERS = {
    "libdispatch": "o", "libdispatch-async": "o", "concurrency": "D", "operations": "s", "nio": "P", "threads": "X", "onetbb": "^",
    "openmp": "v", "rayon": "<", "go": ">", "overdrive-c": "*", "serial": "p", "serial-cxx": "h", "overdrive": "o",
}
NAMES = {
    "overdrive": "Overdrive", "overdrive-c": "Overdrive C", "libdispatch": "libdispatch", "libdispatch-async": "dispatch async",
    "concurrency": "Swift Concurrency", "operations": "OperationQueue", "nio": "NIOThreadPool", "threads": "hand-made pool",
    "onetbb": "oneTBB", "openmp": "OpenMP", "rayon": "rayon", "go": "Go", "serial": "serial", "serial-cxx": "serial C++",
}
plt.rcParams.update({"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "svg.fonttype": "none"})

result = json.load(open(sys.argv[1]))
out = pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
simulation = json.load(open(sys.argv[3]))
notes = json.load(open(sys.argv[4]))
repeated = pathlib.Path(sys.argv[5]).read_text().splitlines() if len(sys.argv) > 5 else []
print_ = result["fingerprint"]

minimum, units, failures, processes = {}, {}, [], {}
for run in result["runs"]:
    key = run["workload"], run["contender"], run["workers"]
    units[run["workload"]] = run["unit"]
    if run["samples"]:
        processes[key] = processes.get(key, 0) + 1
    if run.get("failure"):
        failures.append(f"{run['workload']} by {run['contender']}: {run['failure']}")
    for sample in run["samples"]:
        minimum[key] = min(minimum.get(key, float("inf")), sample)
order = list(dict.fromkeys(run["workload"] for run in result["runs"]))
most = max(print_["workers"])
caveat = (f"{print_['cpu']}, {print_['cpus']} CPUs, {print_['os']}, {print_['kernel']}, {print_['date'][:10]}, commit {print_['commit']}; "
          f"minimum of {min(processes.values(), default=0)} to {max(processes.values(), default=0)} processes, {most} workers. ") + notes["caveat"]
doubts = {(d["workload"], d["contender"], d["workers"]): d["why"] for d in notes["doubts"]}


def figure(workload, contender, workers=most):
    return minimum.get((workload, contender, 1 if contender.startswith("serial") else workers))


def picture(fig, name=None):
    """The figure as SVG text for the page; as a PNG too where it has a name, and then it says where it comes from."""
    if name:
        bottom = min(0.0, *(legend.get_window_extent(fig.canvas.get_renderer()).transformed(fig.transFigure.inverted()).y0
                            for legend in [*fig.legends, *(ax.get_legend() for ax in fig.axes if ax.get_legend())]), 0.0)
        note = "A model, not a measurement." if name == "simulation" else caveat
        fig.text(0.01, bottom - 0.12 / fig.get_figheight(), textwrap.fill(note, int(15 * fig.get_figwidth())), fontsize=7, color="#666",
                 va="top")
        fig.savefig(out / f"{name}.png", dpi=160, bbox_inches="tight", facecolor="white")
    text = io.StringIO()
    fig.savefig(text, format="svg", bbox_inches="tight")
    plt.close(fig)
    return text.getvalue()[text.getvalue().index("<svg"):]


def ratios(contenders, title, name=None):
    rows = [w for w in order if figure(w, "overdrive") and any(figure(w, c) for c in contenders)]
    if not rows:
        return ""
    fig, ax = plt.subplots(figsize=(9, 0.36 * len(rows) + 1.4))
    for y, workload in enumerate(rows):
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color="black", alpha=0.04, lw=0, zorder=0)
        for contender in contenders:
            value = figure(workload, contender)
            if value:
                ax.plot(value / figure(workload, "overdrive"), y, MARKERS[contender], ms=8, color=COLOURS[contender], alpha=0.9,
                        markeredgecolor="white", markeredgewidth=0.7, zorder=3)
    ax.axvline(1, color=COLOURS["overdrive"], lw=2, zorder=2)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    low, high = min(low, 0.4), max(high, 3)
    ax.set_xlim(low, high)
    ax.axvspan(low, 1, color="#fbe9eb", zorder=-1)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:g}×"))
    ax.set_xlabel("time relative to Overdrive, log scale   (shaded: the other is faster)")
    ax.set_title(title, loc="left", fontweight="bold")
    used = [c for c in contenders if any(figure(w, c) for w in rows)]
    ax.legend([plt.Line2D([], [], marker=MARKERS[c], ls="", color=COLOURS[c]) for c in used], [NAMES[c] for c in used],
              loc="upper center", bbox_to_anchor=(0.45, -0.55 / (0.36 * len(rows))), ncol=4, frameon=False)
    return picture(fig, name)


def dots(workloads, contenders, title, name):
    workloads = [w for w in workloads if figure(w, "overdrive")]
    if not workloads:
        return ""
    fig, axes = plt.subplots(1, len(workloads), figsize=(3.1 * len(workloads), 2.9))
    for ax, workload in zip(axes if len(workloads) > 1 else [axes], workloads):
        there = [c for c in contenders if figure(workload, c)]
        values = [figure(workload, c) for c in there]
        # Dots, because a bar's length would mean nothing on a log axis.
        for y, (contender, value) in enumerate(zip(there, values)):
            ax.axhline(y, color="#ddd", lw=0.8, zorder=0)
            ax.plot(value, y, MARKERS[contender], ms=8, color=COLOURS[contender])
        ax.set_yticks(range(len(there)), [NAMES[c] for c in there])
        ax.set_xscale("log")
        for y, value in enumerate(values):
            ax.annotate(f"{value:,.3g}" if value < 1000 else f"{value:,.0f}", (value, y), xytext=(7, 0), textcoords="offset points",
                        va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        ax.set_xlim(min(values) / 2, max(values) * 6)
        ax.set_ylim(len(there) - 0.4, -0.6)
        ax.set_title(workload, loc="left", fontweight="bold", fontsize=10)
        ax.set_xlabel(units[workload] + ", log scale", fontsize=8)
        ax.tick_params(labelsize=8)
    fig.suptitle(title, x=0.01, ha="left", fontweight="bold")
    fig.tight_layout()
    return picture(fig, name)


def scaling():
    shown = [w for w in order if w in ("fib", "skynet", "nqueens", "matmul", "uts", "loop-imbalanced", "mergesort")]
    counts = sorted({n for w, c, n in minimum if c == "overdrive" and w in shown})
    rows = [w for w in shown if all(figure(w, "overdrive", n) for n in counts)]
    if len(counts) < 2 or not rows:
        return ""
    fig, ax = plt.subplots(figsize=(7, 4))
    ax.plot(counts, counts, "--", color="#999", label="perfect")
    for workload in rows:
        ax.plot(counts, [figure(workload, "overdrive", 1 if 1 in counts else counts[0]) / figure(workload, "overdrive", n) for n in counts],
                "o-", label=workload)
    ax.set_xlabel("workers")
    ax.set_ylabel("times as fast as one")
    ax.set_xticks(counts)
    ax.set_title("Speed-up of Overdrive, measured", loc="left", fontweight="bold")
    ax.legend(frameon=False)
    return picture(fig, "scaling")


def simulated():
    jobs = list(dict.fromkeys(row["job"] for row in simulation["rows"]))
    policies = list(dict.fromkeys(row["policy"] for row in simulation["rows"]))
    fig, axes = plt.subplots(1, len(jobs), figsize=(3.6 * len(jobs), 3.8), sharey=True)
    for ax, job in zip(axes, jobs):
        for policy in policies:
            rows = [r for r in simulation["rows"] if r["job"] == job and r["policy"] == policy]
            rows = list({r["workers"]: r for r in rows}.values())
            ax.plot([r["workers"] for r in rows], [r["speedUp"] for r in rows], "o-", ms=3, lw=1.3, label=policy)
        counts = sorted({r["workers"] for r in simulation["rows"]})
        ax.plot(counts, counts, "--", color="#999", lw=1)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        ax.set_ylim(0.5, 1100)
        ax.set_title(f"{job} (simulated)", loc="left", fontsize=10, fontweight="bold")
        ax.set_xlabel("workers, on 1 to 8 nodes")
    axes[0].set_ylabel("times as fast as one")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="lower center", ncol=4, frameon=False, bbox_to_anchor=(0.5, -0.13))
    fig.tight_layout()
    return picture(fig, "simulation")


def simulated_table():
    """Speed-up, steals and wake latency side by side, for a few sizes."""
    text = "<table><tr><th>job (simulated)<th>policy" + "".join(f"<th>{n} workers" for n in (8, 64, 256, 1024)) + "</tr>"
    cells = {(r["job"], r["policy"], r["workers"]): r for r in simulation["rows"]}
    for job, policy in dict.fromkeys((r["job"], r["policy"]) for r in simulation["rows"]):
        text += f"<tr><td>{job}<td>{policy}"
        for n in (8, 64, 256, 1024):
            row = cells.get((job, policy, n))
            text += f"<td>{row['speedUp']:,.3g}× · {row['steals']:,} · {row['wakeLatencyMicroseconds']:,.3g} µs" if row else "<td>–"
        text += "</tr>"
    return text + "</table>"


swift = ["libdispatch", "concurrency", "operations", "nio", "threads"]
charts = [
    ratios([c for c in ("libdispatch", "concurrency", "operations", "onetbb", "openmp")],
           "How many times as long the others take", "ratios"),
    dots(["fib", "spawn-outside", "spawn-inside", "memory"], ["overdrive", *swift[:3], "onetbb", "openmp", "rayon", "go"],
         "Costs", "spawn"),
    ratios(["overdrive-c", "rayon", "go", "nio", "threads", "serial", "libdispatch-async"], "Others still"),
    scaling(),
    simulated(),
]

def text_of(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else "0" if value < 5e-4 else f"{value:,.3g}"


def listed(lines):
    return "<ul>" + "".join(f"<li>{html.escape(line)}" for line in lines) + "</ul>"


contenders = [c for c in NAMES if any(figure(w, c) for w in order)]
table = "<table><tr><th>workload<th>unit" + "".join(f"<th>{NAMES[c]}" for c in contenders) + "</tr>"
losses = []
for workload in order:
    own = figure(workload, "overdrive")
    table += f"<tr><td>{workload}<td>{units[workload]}"
    for contender in contenders:
        value = figure(workload, contender)
        lost = own and value and value < own and contender not in ("overdrive", "serial", "serial-cxx")
        if lost and value * 1.1 < own:
            losses.append(f"{workload}: {NAMES[contender]} needs {value / own:.2f} of Overdrive's time")
        doubt = doubts.get((workload, contender, 1 if contender.startswith("serial") else most))
        text = ("~" if doubt else "") + text_of(value)
        title = f' title="{html.escape(doubt)}"' if doubt else ""
        table += f"<td class={'lost' if lost else 'n'}{title}>{text}"
    table += "</tr>"
table += "</table>"

# What does not depend on the machine's mood.
counted = {(c["workload"], c["contender"]): c["counts"] for c in notes["counts"] if c["workers"] == most}
there = [c for c in NAMES if any(contender == c for _, contender in counted)]
counts = "<table><tr><th>workload<th>unit" + "".join(f"<th>{NAMES[c]}" for c in there) + "</tr>"
for workload in order:
    if any((workload, c) in counted for c in there):
        counts += f"<tr><td>{workload}<td>{units[workload].split(' per ')[-1]}"
        for c in there:
            own = counted.get((workload, c), {})
            counts += "<td>" + (" · ".join(text_of(own.get(name)) for name in ("allocations", "futexes", "switches")) if own else "–")
        counts += "</tr>"
counts += "</table>"
own = "<table><tr><th>workload<th>unit<th>steals<th>failed steals<th>useful wakes<th>spurious wakes<th>parks</tr>"
for workload in order:
    mine = counted.get((workload, "overdrive"), {})
    if "steals" in mine:
        own += f"<tr><td>{workload}<td>{units[workload].split(' per ')[-1]}" + "".join(
            f"<td>{text_of(mine.get(name))}" for name in ("steals", "failed_steals", "useful_wakes", "spurious_wakes", "parks")) + "</tr>"
own += "</table>"

doubtful = [f"{w}, {NAMES.get(c, c)}, {n} workers: {why}" for (w, c, n), why in doubts.items()]
apart = [line for line in repeated if "<-" in line]
agree = next((line for line in repeated if " ratios agree " in line), None)

page = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Overdrive: benchmarks</title>
<meta name=viewport content="width=device-width">
<style>body{{font:15px/1.5 system-ui,sans-serif;max-width:1080px;margin:2em auto;padding:0 1em;color:#222}}
table{{border-collapse:collapse;font-size:12px;display:block;overflow-x:auto}}td,th{{padding:3px 8px;border-bottom:1px solid #ddd;text-align:right}}
td:first-child,td:nth-child(2),th:first-child,th:nth-child(2){{text-align:left}}.lost{{background:#fbe9eb;font-weight:bold}}svg{{max-width:100%;height:auto}}
pre{{background:#f6f6f6;padding:1em;overflow-x:auto}}</style>
<h1>Overdrive beside other schedulers</h1>
<p>{html.escape(caveat)} Read ratios, not times. Every answer was checked; {len(failures)} runs failed.</p>
{charts[0]}
<h2>Where Overdrive loses</h2><ul>{"".join(f"<li>{html.escape(l)}" for l in losses) or "<li>nowhere by more than a tenth, in this run"}</ul>
{charts[1]}{charts[2]}
{"<h2>More workers</h2>" + charts[3] if charts[3] else ""}
{"<h2>Machines that were not at hand: simulated</h2><p>A discrete-event model of the policy, not a measurement; what it leaves out is in Benchmarks/Sources/Simulation.</p><ul>" + "".join(f"<li>{html.escape(c)}" for c in simulation["checks"]) + "</ul>" + charts[4] + "<p>Speed-up · steals · from a wake until the woken worker has work:</p>" + simulated_table() if charts[4] else ""}
<h2>All figures</h2><p>Minima; ~ where fewer than three processes came within 5 % of it.</p>{table}
<h2>How far a second run agrees</h2>
{f"<p>Of two runs of the stored state, one after the other, {html.escape(agree)}. Those that do not:</p>" + listed(apart) if agree else ""}
<p>{len(doubtful)} of {len(minimum)} minima of this result were found by fewer than three of their processes, and may not be found again:</p>{listed(doubtful)}
<h2>Counts</h2><p>Per unit: allocations · futex calls · voluntary context switches. The first two by a preloaded library, which sees
neither glibc's own futexes nor libgomp's nor what Go does.</p>{counts}
<p>What Overdrive's scheduler counts of itself, per unit:</p>{own}
<h2>Where it was measured</h2><pre>{html.escape(json.dumps(print_, indent=1, sort_keys=True))}</pre>
{"<h2>Failed runs</h2><ul>" + "".join(f"<li>{html.escape(f)}" for f in sorted(set(failures))) + "</ul>" if failures else ""}
</html>"""
(out / "report.html").write_text(page)
print(out / "report.html")
