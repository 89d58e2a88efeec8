#!/usr/bin/env python3
"""report RESULT.json OUT SIMULATION.json NOTES.json [REPEATED.txt [COUNTS.txt]] — one page with the charts of a result, and the
pictures of the README.

Writes OUT/report.html, which needs nothing beside itself, and OUT/ratios.png, OUT/spawn.png, OUT/scaling.png and OUT/simulation.png.
A ratio is that of one round: the contender's process's fastest sample over that of Overdrive's process. Marks are the rounds' medians,
bars reach from the lowest round to the highest: right of the line Overdrive is faster, left of it the other is, across it neither.
"""
import base64
import html
import io
import json
import pathlib
import statistics
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

result = json.loads(pathlib.Path(sys.argv[1]).read_text())
out = pathlib.Path(sys.argv[2])
out.mkdir(parents=True, exist_ok=True)
simulation = json.loads(pathlib.Path(sys.argv[3]).read_text())
notes = json.loads(pathlib.Path(sys.argv[4]).read_text())
repeated, gates = (pathlib.Path(name).read_text().splitlines() if name else [] for name in (sys.argv[5:7] + ["", ""])[:2])
print_ = result["fingerprint"]

units, failures = {}, []
samples, busy, resident, tails = {}, {}, {}, {}
by_round, parameters = {}, {}
for run in result["runs"]:
    key = run["workload"], run["contender"], run["workers"]
    units[run["workload"]] = run["unit"]
    parameters[key[:2]] = run["parameters"]
    if run["samples"]:
        by_round.setdefault(key, {})[run["round"]] = min(run["samples"])
        samples.setdefault(key, []).extend(run["samples"])
        if "cpus" in run["facts"]:
            busy.setdefault(key, []).append(run["facts"]["cpus"])
        for name, of in (("rss_kib", resident), ("p99_ns", tails)):
            if name in run["facts"]:
                of.setdefault(key, []).append(run["facts"][name])
    if run.get("failure"):
        failures.append(f"{run['workload']} by {run['contender']}: {run['failure']}")
order = list(dict.fromkeys(run["workload"] for run in result["runs"]))
most = max(print_["workers"])
caveat = (f"{print_['cpu']}, {print_['cpus']} CPUs, {print_['os']}, {print_['kernel']}, {print_['date'][:10]}, commit {print_['commit']}; "
          f"medians of {min(map(len, by_round.values()), default=0)} to {max(map(len, by_round.values()), default=0)} rounds, each process's fastest sample, and "
          f"from the lowest round to the highest, {most} workers. " + ("These are more workers than CPUs. " if most > print_["cpus"] else "")) + notes["caveat"]


def key_of(workload, contender, workers=most):
    return workload, contender, 1 if contender.startswith("serial") else workers


def span(values):
    """The lowest, the median and the highest."""
    return min(values), statistics.median(values), max(values)


def figure(workload, contender, workers=most):
    rounds = by_round.get(key_of(workload, contender, workers))
    return span(rounds.values()) if rounds else None


def over(one, other):
    """How many times as long one figure is as another, round by round; None where fewer than three rounds have both."""
    mine, theirs = by_round.get(one, {}), by_round.get(other, {})
    both = mine.keys() & theirs.keys()
    return span([mine[r] / theirs[r] for r in both]) if len(both) > 2 else None


def ratio(workload, contender):
    return over(key_of(workload, contender), (workload, "overdrive", most))


def draw(ax, values, y, contender, size=8):
    """A mark at the median, and a bar from the lowest round to the highest."""
    ax.plot(values[::2], (y, y), "-", lw=size / 4, color=COLOURS[contender], alpha=0.55, solid_capstyle="butt", zorder=2)
    ax.plot(values[1], y, MARKERS[contender], ms=size, color=COLOURS[contender], markeredgecolor="white", markeredgewidth=0.6, zorder=3)


def short(value):
    """As the tables have a ratio: two digits, hundredths below 2, and no less than whole ones from 10."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}".removesuffix(".0") if value >= 2 else f"{float(f'{value:.2f}'):g}" if value >= 0.1 else f"{value:.2g}"


def interval(values):
    return f"{short(values[0])}–{short(values[2])}×" if short(values[0]) != short(values[2]) else f"{short(values[1])}×"


def picture(fig, name=None):
    """The figure as SVG text for the page; as a PNG too where it has a name, and then it says where it comes from."""
    if name:
        # Below whatever is drawn; where that ends is known when it has been drawn.
        bottom = fig.get_tightbbox(fig.canvas.get_renderer()).y0 / fig.get_figheight()
        note = ("A model, not a measurement. What it takes from one: " if name == "simulation" else "") + caveat
        fig.text(0.01, bottom - 0.12 / fig.get_figheight(), textwrap.fill(note, int(15 * fig.get_figwidth())), fontsize=7, color="#666",
                 va="top")
        fig.savefig(out / f"{name}.png", dpi=160, bbox_inches="tight", facecolor="white")
    text = io.StringIO()
    fig.savefig(text, format="svg", bbox_inches="tight")
    plt.close(fig)
    return text.getvalue()[text.getvalue().index("<svg"):]


def beside_each_other(workload, contenders):
    """Each contender's ratio, and how far its bar moves up or down so that none lies on another."""
    there = sorted((ratio(workload, c), c) for c in contenders if ratio(workload, c))
    groups = []
    for one in there:
        if groups and one[0][0] < 1.12 * max(values[2] for values, _ in groups[-1]):
            groups[-1].append(one)
        else:
            groups.append([one])
    return [(values, c, 0.17 * (i - (len(group) - 1) / 2)) for group in groups for i, (values, c) in enumerate(group)]


def ratios(contenders, title, name=None):
    rows = [w for w in order if any(ratio(w, c) for c in contenders)]
    if not rows:
        return ""
    fig, ax = plt.subplots(figsize=(9, 0.5 * len(rows) + 1.4))
    for y, workload in enumerate(rows):
        if y % 2:
            ax.axhspan(y - 0.5, y + 0.5, color="black", alpha=0.04, lw=0, zorder=0)
        for values, contender, aside in beside_each_other(workload, contenders):
            draw(ax, values, y + aside, contender, 5)
    ax.axvline(1, color=COLOURS["overdrive"], lw=2, zorder=2)
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    low, high = min(low, 0.4), max(high, 3)
    ax.set_xlim(low, high)
    ax.axvspan(low, 1, color="#fbe9eb", zorder=-1)
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    if high < 60 * low:
        ax.xaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
    ax.xaxis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:,g}×"))
    ax.xaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
    ax.set_xlabel("time relative to Overdrive, log scale   (marks: medians; bars: all rounds; shaded: the other is faster)")
    ax.set_title(title, loc="left", fontweight="bold")
    used = [c for c in contenders if any(ratio(w, c) for w in rows)]
    ax.legend([plt.Line2D([], [], marker=MARKERS[c], ls="", color=COLOURS[c]) for c in used], [NAMES[c] for c in used],
              loc="upper center", bbox_to_anchor=(0.45, -0.55 / (0.5 * len(rows))), ncol=6, frameon=False, columnspacing=1.2,
              handletextpad=0.2)
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
            draw(ax, value, y, contender)
        ax.set_yticks(range(len(there)), [NAMES[c] for c in there])
        ax.set_xscale("log")
        for y, (_, value, highest) in enumerate(values):
            ax.annotate(text_of(value), (highest, y), xytext=(9, 0), textcoords="offset points",
                        va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
        ax.set_xlim(min(values)[0] / 2, max(value[2] for value in values) * 10)
        ax.set_ylim(len(there) - 0.4, -0.6)
        ax.set_title(workload, loc="left", fontweight="bold", fontsize=10)
        ax.set_xlabel(units[workload] + ", log scale", fontsize=8)
        ax.tick_params(labelsize=8)
    fig.tight_layout()
    fig.text(0.01, 1.01, title, ha="left", va="bottom", fontweight="bold")
    return picture(fig, name)


def scaling():
    """Dots where there are two numbers of workers, as a line through two points says no more; else a curve for each contender."""
    shown = [w for w in order if w in ("fib", "skynet", "nqueens", "matmul", "uts", "loop-imbalanced", "mergesort")]
    counts = sorted({n for w, c, n in by_round if c == "overdrive" and w in shown and n <= print_["cpus"]})
    rows = [w for w in shown if all(over((w, "overdrive", n), (w, "overdrive", counts[0])) for n in counts)]
    if len(counts) < 2 or not rows:
        return ""
    return few_workers(rows, counts) if len(counts) == 2 else curves(rows, counts)


def few_workers(rows, counts):
    fig, ax = plt.subplots(figsize=(7, 0.34 * len(rows) + 1.2))
    perfect = counts[1] / counts[0]
    ax.axvline(perfect, color="#999", ls="--", lw=1)
    for y, workload in enumerate(rows):
        value = over((workload, "overdrive", counts[0]), (workload, "overdrive", counts[1]))
        ax.axhline(y, color="#ddd", lw=0.8, zorder=0)
        draw(ax, value, y, "overdrive")
        ax.annotate(f"{value[1]:.2f}×", (value[2], y), xytext=(9, 0), textcoords="offset points", va="center", fontsize=8,
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5})
    ax.set_yticks(range(len(rows)), rows)
    ax.set_ylim(len(rows) - 0.5, -0.5)
    ax.set_xlim(0, 1.2 * max(perfect, ax.get_xlim()[1]))
    ax.set_xlabel(f"times as fast with {counts[1]} workers as with {counts[0]}   (dashed: perfect)")
    ax.set_title("Speed-up of Overdrive, measured", loc="left", fontweight="bold")
    return picture(fig, "scaling")


def curves(rows, counts):
    """Against serial where that was measured, so that who is slow alone does not look good beside itself."""
    columns = min(3, len(rows))
    lines = -(-len(rows) // columns)
    fig, axes = plt.subplots(lines, columns, figsize=(3.2 * columns, 2.9 * lines), squeeze=False)
    for ax, workload in zip(axes.flat, rows):
        base = key_of(workload, "serial") if figure(workload, "serial") else (workload, "overdrive", counts[0])
        ax.plot(counts, counts, "--", color="#999", lw=1)
        for contender in (c for c in NAMES if not c.startswith("serial")):
            at = {n: over(base, (workload, contender, n)) for n in counts}
            at = {n: value for n, value in at.items() if value}
            if len(at) > 1:
                ax.plot(at.keys(), [value[1] for value in at.values()], MARKERS[contender] + "-", ms=4, lw=1.3,
                        color=COLOURS[contender], label=NAMES[contender])
        ax.set_title(workload, loc="left", fontweight="bold", fontsize=10)
        ax.set_xscale("log", base=2)
        ax.set_yscale("log", base=2)
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(matplotlib.ticker.FuncFormatter(lambda x, _: f"{x:,.3g}"))
        ax.set_xticks(counts)
        ax.set_xlabel("workers", fontsize=8)
        ax.set_ylabel("times as fast as serial" if figure(workload, "serial") else "times as fast as one worker", fontsize=8)
        ax.tick_params(labelsize=8)
    for ax in axes.flat[len(rows):]:
        ax.set_visible(False)
    fig.tight_layout()
    fig.text(0.01, 1.01, "Speed-up, measured   (dashed: perfect)", ha="left", va="bottom", fontweight="bold")
    labels = {label: line for ax in axes.flat for line, label in zip(*ax.get_legend_handles_labels())}
    fig.legend(labels.values(), labels.keys(), loc="upper center", bbox_to_anchor=(0.5, -0.01), ncol=5, frameon=False)
    return picture(fig, "scaling")


def simulated():
    """Which part of a perfect speed-up: as speed-ups, all policies look the same up to a hundred workers."""
    rows = simulation["rows"]
    jobs = list(dict.fromkeys(row["job"] for row in rows))
    policies = list(dict.fromkeys(row["policy"] for row in rows))
    machines = list(dict.fromkeys((row["workers"], row["nodes"]) for row in rows))
    fig, axes = plt.subplots(-(-len(jobs) // 2), 2, figsize=(9, 3.2 * -(-len(jobs) // 2)), sharey=True, squeeze=False)
    colours = plt.get_cmap("tab10").colors
    for ax, job in zip(axes.flat, jobs):
        for index, policy in enumerate(policies):
            there = {(r["workers"], r["nodes"]): 100 * r["speedUp"] / r["workers"] for r in rows if r["job"] == job and r["policy"] == policy}
            engine = index == 0
            ax.plot(range(len(machines)), [there.get(m) for m in machines], "o-" if engine else "osD^v<>PX"[index] + "-", ms=5 if engine else 3.5,
                    lw=2.6 if engine else 1.1, color=COLOURS["overdrive"] if engine else colours[index], zorder=3 if engine else 2, label=policy)
        ax.set_ylim(0, 105)
        ax.set_xticks(range(len(machines)), [f"{w:,}\n{n}" for w, n in machines], fontsize=6.5)
        ax.set_title(f"{job} (simulated)", loc="left", fontsize=10, fontweight="bold")
        ax.set_xlabel("workers, and below them the nodes they are on", fontsize=8)
        ax.grid(axis="y", color="#eee")
    for ax in axes[:, 0]:
        ax.set_ylabel("% of a perfect speed-up", fontsize=8)
    fig.tight_layout()
    fig.legend(*axes[0, 0].get_legend_handles_labels(), loc="upper center", ncol=3, frameon=False, bbox_to_anchor=(0.5, -0.01), fontsize=9)
    return picture(fig, "simulation")


def simulated_table():
    """Speed-up, steals and wake latency side by side, for a few sizes."""
    sizes = [(8, 1), (64, 1), (64, 4), (256, 4), (1024, 8)]
    text = "<table><tr><th>job (simulated)<th>policy" + "".join(f"<th>{w:,} workers, {n} node{'s' * (n > 1)}" for w, n in sizes) + "</tr>"
    cells = {(r["job"], r["policy"], r["workers"], r["nodes"]): r for r in simulation["rows"]}
    for job, policy in dict.fromkeys((r["job"], r["policy"]) for r in simulation["rows"]):
        text += f"<tr><td>{html.escape(job)}<td>{html.escape(policy)}"
        for size in sizes:
            row = cells.get((job, policy, *size))
            text += f"<td>{row['speedUp']:,.3g}× · {row['steals']:,} · {text_of(row['wakeLatencyMicroseconds'])} µs" if row else "<td>–"
        text += "</tr>"
    return text + "</table>"


def text_of(value):
    if value is None:
        return "–"
    return f"{value:,.0f}" if value >= 1000 else "0" if value < 5e-4 else f"{value:,.3g}"


def how_often(value):
    """Per unit; of what is rare, once in how many units."""
    if value is None or not 0 < value < 0.01:
        return text_of(value)
    return f"1 in {float(f'{1 / value:.2g}'):,.0f}"


def listed(lines):
    return "<ul>" + "".join(f"<li>{html.escape(line)}" for line in lines) + "</ul>"


def simulation_part(chart):
    costs = ", ".join(f"{name} {' / '.join(text_of(x) for x in value) if isinstance(value, list) else text_of(value)}"
                      for name, value in sorted(simulation["costs"].items()))
    return ("<h2>Machines that were not at hand: simulated</h2><p>A discrete-event model of the policy, not a measurement. Beside what was "
            "measured, with one and two workers:</p>" + listed(simulation["checks"] or ["nothing to check it against in this result"])
            + chart + "<p>The first policy is the engine's; the others differ from it in one thing each. Speed-up · steals · from a wake "
            "until the woken worker has work:</p>" + simulated_table() + "<p>What it assumes:</p>" + listed(simulation["assumptions"])
            + f"<p>Costs in ns (three: same node, next node, farther): {html.escape(costs)}.</p>")


swift = ["libdispatch", "concurrency", "operations", "nio", "threads"]
charts = [
    ratios(["libdispatch", "concurrency", "operations", "onetbb", "openmp", "serial"],
           f"How many times as long the others take, {most} workers", "ratios"),
    dots(["fib", "spawn-outside", "spawn-inside", "memory"], ["overdrive", *swift[:3], "onetbb", "openmp", "rayon", "go"],
         f"What one fork, closure or waiting closure costs, {most} workers", "spawn"),
    ratios(["overdrive-c", "rayon", "go", "nio", "threads", "serial-cxx", "libdispatch-async"], "Others still"),
    scaling(),
    simulated(),
]

contenders = [c for c in NAMES if any(figure(w, c) for w in order)]
table = "<table><tr><th>workload<th>unit" + "".join(f"<th>{NAMES[c]}" for c in contenders) + "</tr>"
losses, alone = [], []
for workload in order:
    own = figure(workload, "overdrive")
    table += f"<tr><td>{workload}<td>{units[workload]}"
    for contender in contenders:
        value = figure(workload, contender)
        times = ratio(workload, contender) if contender != "overdrive" else None
        lost = times and round(times[2], 2) < 1
        if lost:
            (alone if contender.startswith("serial") else losses).append(
                f"{workload}: {NAMES[contender]} {text_of(value[1])}, Overdrive {text_of(own[1])} {units[workload]} ({interval(times)})")
        table += f"<td class={'lost' if lost else 'n'}>{text_of(value[1] if value else None)}" + (f" · {interval(times)}" if times else "")
    table += "</tr>"
table += "</table>"

# What a pool that spins wins, it wins with its neighbours' time: the median, and the CPUs that were kept busy for it.
middles = "<table><tr><th>workload<th>unit" + "".join(f"<th>{NAMES[c]}" for c in contenders) + "</tr>"
for workload in order:
    middles += f"<tr><td>{workload}<td>{units[workload]}"
    for contender in contenders:
        key = key_of(workload, contender)
        cpus = f" · {statistics.median(busy[key]):.2g}" if key in busy else ""
        middles += f"<td>{text_of(statistics.median(samples[key]))}{cpus}" if key in samples else "<td>–"
    middles += "</tr>"
middles += "</table>"

def medians(title, values, scale):
    """A table of what each process said of itself once: the median of them."""
    rows = [w for w in order if any(key_of(w, c) in values for c in contenders)]
    text = f"<p>{title}</p><table><tr><th>workload<th>" + "".join(f"<th>{NAMES[c]}" for c in contenders) + "</tr>"
    for workload in rows:
        there = [values.get(key_of(workload, c)) for c in contenders]
        text += f"<tr><td>{workload}<td>" + "".join(f"<td>{text_of(statistics.median(v) / scale if v else None)}" for v in there) + "</tr>"
    return text + "</table>" if rows else ""


# Costs are per unit, so whoever would take minutes has less to do; or another tree.
smaller = [f"{NAMES[c]}: " + ", ".join(
    f"{w} ({' '.join(f'{k}={v}' for k, v in sorted(parameters[w, c].items()))} instead of "
    f"{' '.join(f'{k}={v}' for k, v in sorted(parameters[w, 'overdrive'].items()))})" for w in there)
    for c in contenders if (there := [w for w in order if (w, c) in parameters and parameters[w, c] != parameters.get((w, "overdrive"), parameters[w, c])])]

# What does not depend on the machine's mood.
for c in notes["counts"]:
    if "syscalls" in c["counts"]:
        c["counts"]["other"] = max(0, c["counts"]["syscalls"] - c["counts"].get("futexes", 0))
counted = {(c["workload"], c["contender"]): c["counts"] for c in notes["counts"] if c["workers"] == most}
there = [c for c in NAMES if any(contender == c for _, contender in counted)]
counts = "<table><tr><th>workload<th>unit" + "".join(f"<th>{NAMES[c]}" for c in there) + "</tr>"
for workload in order:
    if any((workload, c) in counted for c in there):
        counts += f"<tr><td>{workload}<td>{units[workload].split(' per ')[-1]}"
        for c in there:
            own = counted.get((workload, c), {})
            counts += "<td>" + (" · ".join(text_of(own.get(name)) for name in ("allocations", "futexes", "other", "switches")) if own else "–")
        counts += "</tr>"
counts += "</table>"
own = "<table><tr><th>workload<th>unit<th>steals<th>failed steals<th>stolen forks<th>useful wakes<th>spurious wakes<th>parks</tr>"
for workload in order:
    mine = counted.get((workload, "overdrive"), {})
    if "parks" in mine:
        own += f"<tr><td>{workload}<td>{units[workload].split(' per ')[-1]}" + "".join(
            f"<td>{how_often(mine.get(name))}" for name in ("steals", "failed_steals", "stolen_forks", "useful_wakes", "spurious_wakes", "parks")) + "</tr>"
own += "</table>"

crowded = " and ".join(str(n) for n in sorted(print_["workers"]) if n > print_["cpus"])
apart = [line for line in repeated if "<-" in line]
agree = [line for line in repeated if " ratios agree:" in line or " are on the same side of 1 " in line]

page = f"""<!doctype html><html lang=en><meta charset=utf-8><title>Overdrive: benchmarks</title>
<meta name=viewport content="width=device-width">
<style>:root{{color-scheme:light}}body{{background:#fff;font:15px/1.5 system-ui,sans-serif;max-width:1240px;margin:2em auto;padding:0 1em;color:#222}}
table{{border-collapse:collapse;font-size:12px;display:block;overflow-x:auto}}td,th{{white-space:nowrap;padding:3px 8px;border-bottom:1px solid #ddd;text-align:right}}
td:first-child,td:nth-child(2),th:first-child,th:nth-child(2){{text-align:left}}.lost{{background:#fbe9eb;font-weight:bold}}svg{{max-width:100%;height:auto}}
pre{{background:#f6f6f6;padding:1em;overflow-x:auto}}</style>
<h1>Overdrive beside other schedulers</h1>
<p>{html.escape(caveat)} Read ratios, not times. Every answer was checked; {len(failures)} runs failed.</p>
{charts[0]}
<h2>Where Overdrive loses in every round</h2>{listed(losses or ["nowhere, in this run"])}
{f"<p>And to a plain loop or call on one thread, while Overdrive has {most} workers:</p>" + listed(alone) if alone else ""}
{charts[1]}{charts[2]}
{"<h2>More workers</h2>" + charts[3] if charts[3] else ""}
{f"<p>There are {print_['cpus']} CPUs: of {crowded} workers no speed-up is drawn.</p>" if crowded else ""}
{simulation_part(charts[4]) if charts[4] else ""}
<h2>All figures</h2><p>Medians of the rounds' fastest samples · times as long as Overdrive, from the lowest round to the highest.</p>{table}
{"<p>Smaller jobs, whose costs are per unit all the same, had:</p>" + listed(smaller) if smaller else ""}
<p>Medians of all samples · CPUs kept busy:</p>{middles}
{medians("The most resident memory of a process, MiB, medians:", resident, 1024)}
{medians("Of round trips the 99th percentile, µs, medians:", tails, 1000)}
<h2>How far a second run agrees</h2>
{f"<p>Of two runs of the stored state, one after the other, {html.escape('; '.join(agree))}. Those that do not agree:</p>" + listed(apart) if agree else ""}
<h2>Counts</h2><p>Per unit: allocations · futex calls · other system calls · voluntary context switches. The first three by a preloaded
library, which sees the calls that go through syscall(2): neither glibc's own futexes nor its reads and writes, nor libgomp's, nor what Go does.</p>{counts}
<p>What Overdrive's scheduler counts of itself, per unit (steals of closures; forks that ran on another thread than their own):</p>{own}
{"<p>What gates, counted on one thread by valgrind and by the library (make test-counts):</p>" + listed(line for line in gates if "]" in line) if gates else ""}
<h2>Where it was measured</h2><pre>{html.escape(json.dumps(print_, indent=1, sort_keys=True))}</pre>
{"<h2>Failed runs</h2><ul>" + "".join(f"<li>{html.escape(f)}" for f in sorted(set(failures))) + "</ul>" if failures else ""}
</html>"""
(out / "report.html").write_text(page)
print(out / "report.html")
