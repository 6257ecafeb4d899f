#!/usr/bin/env python3
"""The table of performance figures: nave-hub with a swarm of agents, against the probes of what the machine can do.

    ./dev bench [--row N]... [--agents N] [--json FILE]

A claim is a ratio of product and probe, taken in turns in one run: the median of the pairs. CPU seconds of the hub's
process decide; wall time is printed beside. When two neighbouring probes differ by more than 20 % the machine was not
quiet: the row is taken again, up to five times, and is "not measured" when it never was quiet (its ratio is printed in
brackets).
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAIRS = 5
ATTEMPTS = 5
NOISE = 1.20
BUNDLES, OBJECTS = 10, 5
IDLE_SECONDS = 60

# Row: gate and stretch, for 1,000 agents.
LIMITS = {1: (1, None), 2: (9, 2.5), 3: (6, 1.5), 5: (10, 2.5), 9: (0, None)}


def say(text):
    print(f"== {text}", file=sys.stderr, flush=True)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def pinned(core):
    """Command prefix: the hub on one core, the swarm on the others."""
    cores = sorted(os.sched_getaffinity(0))
    if len(cores) < 2 or shutil.which("taskset") is None:
        return []
    return ["taskset", "-c", str(cores[0]) if core == "hub" else ",".join(map(str, cores[1:]))]


class Hub:
    def __init__(self, bin_folder, folder):
        self.bin = bin_folder / "nave-hub"
        self.folder = folder
        self.api, self.agents, self.health = free_ports(3)
        self.process = None
        self.log = open(folder / "hub.log", "ab")

    def start(self):
        command = pinned("hub") + [
            str(self.bin), f"--data-dir={self.folder / 'data'}", "--advertise=localhost",
            f"--listen-api=127.0.0.1:{self.api}", f"--listen-agents=127.0.0.1:{self.agents}",
            f"--listen-health=127.0.0.1:{self.health}", "--log-level=warning"]
        self.process = subprocess.Popen(command, stdout=self.log, stderr=self.log)

    def wait_ready(self):
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise SystemExit(f"the hub ended: {(self.folder / 'hub.log').read_text()[-2000:]}")
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/readyz", timeout=5) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                pass
            time.sleep(0.02)
        raise SystemExit("the hub did not get ready")

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self):
        if self.process is not None and self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(60)
            except subprocess.TimeoutExpired:
                self.kill()

    def cpu(self):
        """CPU seconds of the process, ended threads included: its CPU clock, see clock_getcpuclockid(3)."""
        return time.clock_gettime((~self.process.pid << 3) | 2)

    def resident(self):
        pages = int(pathlib.Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE")

    def metric(self, name):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.health}/metrics", timeout=10) as answer:
            for line in answer.read().decode().splitlines():
                if line.startswith((name + " ", name + "{")):
                    return float(line.rpartition(" ")[2])
        raise SystemExit(f"the hub has no metric {name}")


class Swarm:
    def __init__(self, bin_folder, folder):
        self.process = subprocess.Popen(
            pinned("swarm") + [str(bin_folder / "nave-swarm"), str(folder / "data" / "admin.yaml")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(folder / "swarm.log", "ab"), text=True)

    def send(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def receive(self, command):
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the swarm ended"}
        if "error" in answer:
            raise SystemExit(f"swarm: {command}: {answer['error']}")
        return answer

    def do(self, command):
        self.send(command)
        return self.receive(command)

    def stop(self):
        self.process.stdin.close()
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()


class Bench:
    def __init__(self, options, folder):
        self.options = options
        self.bin = options.bin.resolve()
        self.folder = folder
        self.agents = options.agents
        self.rows = []
        self.hub = Hub(self.bin, folder)
        self.swarm = None

    def probe(self, *arguments):
        output = subprocess.run(pinned("hub") + [str(self.bin / "nave-bench-probe"), *map(str, arguments)],
                                check=True, capture_output=True, text=True).stdout
        return json.loads(output)

    def add(self, row, name, value, unit, probe=None, ratio=None, quiet=True, judged=None):
        """`judged` is what the gate is about: the ratio, unless given."""
        gate, stretch = LIMITS[row]
        judged = ratio if judged is None else judged
        met = judged >= gate if row == 1 else judged <= gate
        verdict = ("pass" if met else "fail") if quiet else "not measured"
        self.rows.append({"row": row, "name": name, "value": value, "unit": unit, "probe": probe, "ratio": ratio,
                          "gate": gate, "stretch": stretch, "verdict": verdict})
        say(f"row {row}: {name}: {value:.4g} {unit}" + (f", ratio {ratio:.2f}" if ratio is not None else "")
            + f": {verdict}")

    def pairs(self, probe, product):
        """Medians of probe, product and their ratio; and whether the machine was quiet in one of the attempts."""
        for attempt in range(self.options.attempts):
            probes, products = [], []
            for _ in range(PAIRS):
                probes.append(probe())
                products.append(product())
            ratio = statistics.median(b / a for a, b in zip(probes, products))
            quiet = all(max(a, b) <= NOISE * min(a, b) for a, b in zip(probes, probes[1:]))
            if quiet or attempt == self.options.attempts - 1:
                return statistics.median(probes), statistics.median(products), ratio, quiet
            say("not quiet: " + " ".join(f"{value:.3g}" for value in probes))

    def fill(self):
        """Enrols all, connects a fifth, then all; the memory of the hub at both."""
        self.hub.start()
        self.hub.wait_ready()
        self.swarm = Swarm(self.bin, self.folder)
        say(f"enrolling {self.agents} agents")
        taken = self.swarm.do(f"enroll {self.agents}")
        say(f"enrolled in {taken['seconds']:.1f} s")
        self.swarm.do(f"bundles {BUNDLES} {OBJECTS}")
        few = self.agents // 5
        resident = []
        for count in (few, self.agents):
            taken = self.swarm.do(f"connect {count}")
            settled = self.swarm.do("settle")
            say(f"{count} connected in {taken['seconds']:.1f} s, all applied after {settled['seconds']:.1f} s more")
            time.sleep(5)
            resident.append(self.hub.resident())
        self.settled = settled
        self.slope = (resident[1] - resident[0]) / (self.agents - few)
        self.resident = resident[1]

    def row_1(self):
        live = self.swarm.do("live")["live"]
        share = min(self.settled["applied"], live) / self.agents
        self.add(1, f"acknowledged / connected, {self.agents} agents over mTLS", share, "", judged=share)

    def row_2(self):
        floor = self.probe("floor", self.agents)["connection_bytes"]
        self.add(2, f"hub memory per idle agent, {BUNDLES} assignments", self.slope / 1024, "KiB", floor / 1024,
                 self.slope / floor)

    def row_5(self):
        wall = []

        def update():
            before = self.hub.cpu()
            answer = self.swarm.do("update")
            wall.append(answer)
            spent = (self.hub.cpu() - before) / self.agents
            self.swarm.do("settle")
            return spent

        probe, product, ratio, quiet = self.pairs(
            lambda: self.probe("floor", self.agents, 10)["round_trip_cpu_s"], update)
        self.add(5, "hub CPU per agent of one 2 KB change, stored, pushed, acknowledged", product * 1e6, "us",
                 probe * 1e6, ratio, quiet)
        self.fanout = {key: statistics.median(answer[key] for answer in wall) for key in ("p50_ms", "p99_ms", "write_ms")}
        say("fan-out: " + ", ".join(f"{key} {value:.1f}" for key, value in self.fanout.items()))

    def row_3(self):
        seconds, resent = [], []

        def storm():
            self.swarm.do("mark")
            self.hub.kill()
            self.hub.start()
            answer = self.swarm.do("await")
            spent = self.hub.cpu() / self.agents  # All of the new process, its start included.
            seconds.append(answer["seconds"])
            resent.append(answer["contents"])
            self.swarm.do("settle")
            return spent

        probe, product, ratio, quiet = self.pairs(lambda: self.probe("handshake", 500)["cpu_s"], storm)
        self.add(3, "hub CPU per session of a return of all after kill -9", product * 1e3, "ms", probe * 1e3, ratio, quiet)
        say(f"back in {statistics.median(seconds):.1f} s (with the agents' own waiting); contents sent again: {sum(resent)}")
        if sum(resent):
            self.rows[-1]["verdict"] = "fail"
            self.rows[-1]["name"] += f"; {sum(resent)} contents were sent again"

    def row_9(self):
        self.swarm.do("settle")
        time.sleep(5)
        revision, cpu, start = self.hub.metric("nave_hub_snapshot_revision"), self.hub.cpu(), time.monotonic()
        time.sleep(IDLE_SECONDS)
        writes = self.hub.metric("nave_hub_snapshot_revision") - revision
        share = (self.hub.cpu() - cpu) / (time.monotonic() - start)
        self.add(9, f"store writes in {IDLE_SECONDS} s of heartbeats (hub CPU {100 * share:.2f} % of a core)", writes,
                 "writes", judged=writes)

    def run(self):
        wanted = self.options.row or sorted(LIMITS)
        try:
            self.fill()
            for row in (1, 2, 5, 3, 9):
                if row in wanted:
                    getattr(self, f"row_{row}")()
        finally:
            if self.swarm is not None:
                self.swarm.stop()
            self.hub.stop()
        self.rows.sort(key=lambda row: row["row"])


def machine():
    model = "unknown processor"
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    memory = os.sysconf("SC_PAGESIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{model}, {len(os.sched_getaffinity(0))} cores, {memory:.0f} GiB, Linux {platform.release()}"


def commit():
    result = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True)
    return result.stdout.strip() or "unknown"


def table(report):
    lines = [f"{report['agents']} agents, {BUNDLES} assignments each · {report['machine']} · commit {report['commit']} · "
             f"{report['date']} · load {report['load']}", "",
             "| # | quantity | value | probe | ratio | gate | stretch | verdict |", "|---|---|---|---|---|---|---|---|"]
    for row in report["rows"]:
        def show(key, unit=""):
            return "" if row[key] is None else f"{row[key]:.3g}{unit}"
        unit = f" {row['unit']}" if row["unit"] else ""
        ratio = show("ratio")
        if row["verdict"] == "not measured" and ratio:
            ratio = f"({ratio})"
        lines.append(f"| {row['row']} | {row['name']} | {show('value', unit)} | {show('probe', unit)} | {ratio} | "
                     f"{show('gate')} | {show('stretch')} | {row['verdict']} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", type=int, action="append", choices=sorted(LIMITS), help="only this row; may be repeated")
    parser.add_argument("--agents", type=int, default=1000)
    parser.add_argument("--attempts", type=int, default=ATTEMPTS, help="how often a row that was not quiet is taken again")
    parser.add_argument("--json", type=pathlib.Path, help="also write the figures here")
    parser.add_argument("--bin", type=pathlib.Path, default=ROOT / "build" / "release" / "bin")
    parser.add_argument("--keep", action="store_true", help="keep the hub's data and logs, and say where")
    options = parser.parse_args()

    folder = pathlib.Path(tempfile.mkdtemp(prefix="nave-bench-"))
    bench = Bench(options, folder)
    try:
        bench.run()
    finally:
        if options.keep:
            say(f"kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    report = {"machine": machine(), "commit": commit(), "agents": options.agents,
              "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
              "load": " ".join(f"{value:.1f}" for value in os.getloadavg()), "rows": bench.rows}
    print(table(report))
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(row["verdict"] == "fail" for row in bench.rows) else 0


if __name__ == "__main__":
    sys.exit(main())
