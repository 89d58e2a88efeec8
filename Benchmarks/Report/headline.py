#!/usr/bin/env python3
"""headline RESULT.json — writes the README's picture to standard output: six workloads, as SVG.

A mark is the median ratio of a contender's time to Overdrive's, a bar reaches from the lowest round to the highest. Needs only Python.
"""
import json
import math
import statistics
import sys

ROWS = ["spawn-outside", "fib", "blocked", "dag-chain", "loop-grain-10", "ping-pong"]
CONTENDERS = {"libdispatch": ("libdispatch", "#00798c"), "concurrency": ("Swift Concurrency", "#c47f00"), "onetbb": ("oneTBB", "#5566bb")}
LEFT, RIGHT, TOP, STEP, WIDTH = 150, 760, 70, 48, 800
LOW, HIGH = 0.05, 2000

result = json.load(open(sys.argv[1]))
most = max(result["fingerprint"]["workers"])
best = {}
for run in result["runs"]:
    if run["samples"] and run["workers"] == most:
        best.setdefault((run["workload"], run["contender"]), {})[run["round"]] = min(run["samples"])


def x(ratio):
    return LEFT + (RIGHT - LEFT) * math.log(ratio / LOW) / math.log(HIGH / LOW)


bottom = TOP + STEP * len(ROWS)
out = [f'''<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {bottom + 60}" width="{WIDTH}" height="{bottom + 60}" role="img"
 font-family="system-ui, sans-serif" font-size="13">
<title>Times relative to Overdrive on {most} CPUs, log scale</title>
<style>text{{fill:#24292f}}.quiet{{fill:#57606a}}.grid{{stroke:#d0d7de}}.ground{{fill:#ffffff}}.lose{{fill:#d1495b;opacity:.10}}
@media (prefers-color-scheme: dark){{text{{fill:#e6edf3}}.quiet{{fill:#9198a1}}.grid{{stroke:#3d444d}}.ground{{fill:#0d1117}}.lose{{opacity:.22}}}}</style>
<rect class="ground" width="{WIDTH}" height="{bottom + 60}"/>
<rect class="lose" x="{LEFT}" y="{TOP}" width="{x(1) - LEFT:.0f}" height="{bottom - TOP}"/>
<text x="{x(1) - 8:.0f}" y="{TOP - 8}" text-anchor="end" class="quiet">Overdrive slower</text>
<text x="{x(1) + 8:.0f}" y="{TOP - 8}" class="quiet">Overdrive faster</text>''']
for tick in (0.1, 1, 10, 100, 1000):
    out.append(f'<line class="grid" x1="{x(tick):.0f}" x2="{x(tick):.0f}" y1="{TOP}" y2="{bottom}"/>'
               f'<text x="{x(tick):.0f}" y="{bottom + 18}" text-anchor="middle" class="quiet">{tick:,g}×</text>')
out.append(f'<line stroke="#d1495b" stroke-width="2" x1="{x(1):.0f}" x2="{x(1):.0f}" y1="{TOP}" y2="{bottom}"/>')
for number, (name, colour) in enumerate(CONTENDERS.values()):
    at = LEFT + 170 * number
    out.append(f'<circle cx="{at}" cy="24" r="6" fill="{colour}"/><text x="{at + 12}" y="28.5">{name}</text>')
for row, workload in enumerate(ROWS):
    middle = TOP + STEP * (row + 0.5)
    out.append(f'<text x="{LEFT - 12}" y="{middle + 4:.0f}" text-anchor="end">{workload}</text>')
    mine = best[workload, "overdrive"]
    for number, (contender, (_, colour)) in enumerate(CONTENDERS.items()):
        theirs = best.get((workload, contender), {})
        ratios = [theirs[r] / mine[r] for r in mine.keys() & theirs.keys()]
        if not ratios:
            continue
        y = middle + 12 * (number - 1)
        out.append(f'<line stroke="{colour}" stroke-width="4" opacity=".55" x1="{x(min(ratios)):.1f}" x2="{x(max(ratios)):.1f}" y1="{y}" y2="{y}"/>'
                   f'<circle cx="{x(statistics.median(ratios)):.1f}" cy="{y}" r="6" fill="{colour}"/>')
out.append(f'<text x="{LEFT}" y="{bottom + 44}" class="quiet">time relative to Overdrive, log scale; mark: median round, bar: lowest to highest round</text>')
print("\n".join(out) + "\n</svg>")
