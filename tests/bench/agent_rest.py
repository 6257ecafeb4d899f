#!/usr/bin/env python3
"""What one agent costs at rest on a real Kubernetes: memory, processor time, size of the program.

    ./dev bench agent [--seconds N] [--json FILE]

Applies Online Boutique into six namespaces and the CRDs of Cluster API when NAVE_MANIFESTS names the folder that has
them, else the tests' own application as often; waits until all is healthy, then measures while nothing happens.
"""
import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
sys.path.insert(0, str(ROOT / "tests" / "bench"))

# Quantity: gate of this stage, and what later stages gate it with.
GATES = {"resident": 24.0, "cpu": 2.0}
COPIES = 6


def status(pid):
    """Fields of /proc/PID/status in MiB."""
    fields = {}
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if value.strip().endswith("kB"):
            fields[name] = int(value.split()[0]) / 1024
    return fields


def stripped_size(program):
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / program.name
        shutil.copy(program, copy)
        subprocess.run(["strip", str(copy)], check=True)
        return copy.stat().st_size / 2**20


def load(fleet):
    """Applies everything; the number of objects and what it was."""
    import apps
    given = {app.name: app for app in apps.given_apps()}
    app = given.get("online-boutique") or apps.own_app()
    names = []
    for copy in range(1, COPIES + 1):
        names.append(f"{app.name}-{copy}")
        fleet.apply(apps.bundle(names[-1], app.versions[-1], f"copy-{copy}"))
    crds = given.get("cluster-api-crds")
    if crds is not None:
        names.append(crds.name)
        fleet.apply(apps.bundle(crds.name, crds.versions[-1]))
    for name in names:
        fleet.wait_bundle(name)
    objects = sum(len(app.kinds(-1)) for _ in range(COPIES)) + (len(crds.kinds(-1)) if crds else 0)
    return objects, f"{COPIES} times {app.name}" + (f" and {crds.name}" if crds else "")


def measure(options):
    from fleet import Fleet, programs
    with Fleet(("newest",)) as fleet:
        objects, what = load(fleet)
        pid = fleet.agents[fleet.spokes[0].name].pid
        print(f"== {objects} objects ({what}) are healthy; {options.seconds} s at rest", file=sys.stderr, flush=True)
        time.sleep(30)
        cpu_clock = (~pid << 3) | 2  # See clock_getcpuclockid(3).
        cpu, start = time.clock_gettime(cpu_clock), time.monotonic()
        time.sleep(options.seconds)
        cpu_share = (time.clock_gettime(cpu_clock) - cpu) / (time.monotonic() - start)
        memory = status(pid)
    return {"objects": objects, "applications": what, "seconds": options.seconds, "resident_mib": memory["VmRSS"],
            "anonymous_mib": memory["RssAnon"], "peak_mib": memory["VmHWM"], "cpu_mcore": cpu_share * 1000,
            "stripped_mib": stripped_size(programs() / "nave-agent")}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, help="how long nothing happens")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    options = parser.parse_args()
    os.environ["NAVE_BIN"] = str(options.bin.resolve())
    from run import commit, machine
    found = measure(options)
    rows = [("resident memory (VmRSS)", found["resident_mib"], "MiB", GATES["resident"]),
            ("of it anonymous", found["anonymous_mib"], "MiB", None),
            ("peak while it arrived", found["peak_mib"], "MiB", None),
            ("processor time", found["cpu_mcore"], "mcore", GATES["cpu"]),
            ("program, stripped", found["stripped_mib"], "MiB", None)]
    print(f"agent, {found['objects']} objects ({found['applications']}), {found['seconds']} s at rest · {machine()} · "
          f"commit {commit()} · {time.strftime('%Y-%m-%d', time.gmtime())}\n")
    print("| quantity | value | gate | verdict |\n|---|---|---|---|")
    for name, value, unit, gate in rows:
        verdict = "" if gate is None else "pass" if value <= gate else "fail"
        print(f"| {name} | {value:.3g} {unit} | {'' if gate is None else f'{gate:g} {unit}'} | {verdict} |")
    if options.json:
        options.json.write_text(json.dumps({**found, "machine": machine(), "commit": commit()}, indent=1) + "\n")
    return 1 if any(gate is not None and value > gate for _, value, _, gate in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
