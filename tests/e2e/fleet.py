"""A hub, spokes and their agents as real processes, for the end-to-end tests and the demo."""

import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "kube"))
from processes import Failure, Process, wait_until  # noqa: E402
from sim import SimStand  # noqa: E402
from stand import Stand, available, exit_on_signals  # noqa: E402,F401

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
AGENT_NAMESPACE = "nave-system"
AGENT_USER = f"system:serviceaccount:{AGENT_NAMESPACE}:nave-agent"
# How long a step may take before the test gives up. Machines differ: no test asserts on a time.
PATIENCE = 180


def programs():
    """The folder of the programs: NAVE_BIN, else the debug build's."""
    return pathlib.Path(os.environ.get("NAVE_BIN") or ROOT / "build" / "debug" / "bin")


def clean_environment(home, **more):
    """An environment without anything of the caller's that the programs would read."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith(("NAVE_", "NAVECTL_", "KUBE")) and key.lower() not in
           ("http_proxy", "https_proxy", "all_proxy", "no_proxy")}
    env.update({"HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"), "NO_COLOR": "1", **more})
    return env


class Navectl:
    """The command line with the hub's administrator context."""

    def __init__(self, hub):
        self._hub = hub
        self._home = hub.folder

    def command(self, *words):
        # The context names the port that the settings name: 0.
        return [str(programs() / "navectl"), f"--config={self._hub.data}/admin.yaml",
                f"--hub=127.0.0.1:{self._hub.ports['api']}", *map(str, words)]

    def run(self, *words, input=None, timeout=PATIENCE):
        """The finished process: returncode, stdout, stderr."""
        return subprocess.run(self.command(*words), input=input, capture_output=True, text=True, timeout=timeout,
                              env=clean_environment(self._home), cwd=self._home, check=False)

    def __call__(self, *words, input=None, timeout=PATIENCE):
        """Standard output; Failure on an exit code that is not 0."""
        done = self.run(*words, input=input, timeout=timeout)
        if done.returncode != 0:
            raise Failure(f"navectl {' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def json(self, *words, **options):
        return json.loads(self(*words, "-o", "json", **options))


class Hub:
    """nave-hub with its data in `folder`. The ports are free ones at the first start and stay the same then."""

    def __init__(self, folder, keep=False, config=None):
        self.folder = folder
        self.data = folder / "data"
        self.log = folder / "hub.log"
        self.navectl = Navectl(self)
        self.ports = {"api": 0, "agents": 0, "health": 0}
        self._config = config or {}
        self._ports_file = folder / "ports.json"
        self._process = Process("nave-hub", [programs() / "nave-hub", f"--config={folder}/hub.yaml"], self.log,
                                env=clean_environment(folder), cwd=folder, keep=keep)
        folder.mkdir(parents=True, exist_ok=True)

    def start(self):
        # On a machine with other work a connection of somebody else can sit on the port for a moment.
        def try_once():
            self.launch()
            wait_until(lambda: self._ports_file.exists() or not self._process.running(), PATIENCE,
                       lambda: f"the hub wrote no ports:\n{self.log_tail()}")
            return self._process.running() or "PORT_IN_USE" not in self.log_tail()
        wait_until(try_once, 60, "the hub's ports are taken")
        self._process.check()
        self.ports = json.loads(self._ports_file.read_text())
        return self

    def launch(self):
        """Starts the process and waits for nothing."""
        self._ports_file.unlink(missing_ok=True)
        settings = {"dataDir": str(self.data), "advertise": ["127.0.0.1", "localhost"],
                    "listenApi": f"127.0.0.1:{self.ports['api']}", "listenAgents": f"127.0.0.1:{self.ports['agents']}",
                    "listenHealth": f"127.0.0.1:{self.ports['health']}", "portsFile": str(self._ports_file),
                    "logFormat": "json", **self._config}
        (self.folder / "hub.yaml").write_text(json.dumps(settings, indent=1))
        self._process.start()

    def kill(self):
        self._process.kill()

    def terminate(self):
        return self._process.terminate()

    def check(self):
        self._process.check()

    def running(self):
        return self._process.running()

    @property
    def pid(self):
        return self._process.pid

    def log_tail(self, lines=25):
        return self._process.log_tail(lines)

    def database_files(self):
        return sorted(path for path in self.data.iterdir() if re.search(r"\.(db|sqlite)", path.name))


class Agent:
    """nave-agent as a process with the rights of the ServiceAccount that the printed manifest makes."""

    def __init__(self, cluster, folder, keep=False):
        self.cluster = cluster
        self.folder = folder
        self.log = folder / "agent.log"
        folder.mkdir(parents=True, exist_ok=True)
        self._keep = keep
        self._process = None

    def install(self, manifest):
        """Applies the manifest with kubectl and readies the process: its token, and a kubeconfig of its account."""
        self.cluster.apply_text(manifest)
        # There is no kubelet that could run the Deployment: the process stands in for its pod.
        self.cluster.scale(AGENT_NAMESPACE, "nave-agent", 0)
        token = self.cluster.service_account_token(AGENT_NAMESPACE, "nave-agent")
        kubeconfig = self.cluster.write_kubeconfig(self.folder / "agent.kubeconfig", token)
        (self.folder / "join-token").write_text(self.join_token())
        self._process = Process(
            f"nave-agent of {self.cluster.name}",
            [programs() / "nave-agent", f"--token-file={self.folder}/join-token", f"--kubeconfig={kubeconfig}",
             "--health-address=127.0.0.1:0"],
            self.log, env=clean_environment(self.folder, NAVE_NAMESPACE=AGENT_NAMESPACE, NAVE_POD_NAME="nave-agent-0"), cwd=self.folder, keep=self._keep)

    def join_token(self):
        """The token in the manifest's Secret, read back from the cluster."""
        secret = self.cluster.get(f"/api/v1/namespaces/{AGENT_NAMESPACE}/secrets/nave-join-token")
        return base64.b64decode(secret["data"]["token"]).decode()

    def start(self):
        self._process.start()
        return self

    def kill(self):
        self._process.kill()

    def terminate(self):
        return self._process.terminate()

    def check(self):
        self._process.check()

    def running(self):
        return self._process is not None and self._process.running()

    @property
    def pid(self):
        return self._process.pid

    def log_tail(self, lines=25):
        return self._process.log_tail(lines) if self._process else ""


class Fleet:
    """A hub and one spoke per version, each with its agent. A context manager that leaves nothing behind.

    `simulated`: simulated clusters take the place of real ones, whatever the versions.

    Inside: fleet.hub, fleet.navectl, fleet.spokes (Clusters), fleet.agents (by spoke name).
    """

    def __init__(self, versions=("newest",), keep=False, join=True, folder=None, hub_config=None,
                 simulated=False):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="nave-fleet-"))
        self._keep = keep
        self._join = join
        if simulated:
            self.stand = SimStand(len(versions), programs() / "kubesim", self.folder / "kube", keep)
        else:
            self.stand = Stand(versions, self.folder / "kube", keep)
        self.spokes = self.stand.clusters
        self.hub = Hub(self.folder / "hub", keep, hub_config)
        self.navectl = self.hub.navectl
        self.agents = {spoke.name: Agent(spoke, self.folder / f"agent-{spoke.name}", keep) for spoke in self.spokes}

    def __enter__(self):
        try:
            self.stand.start()
            self.hub.start()
            if self._join:
                for spoke in self.spokes:
                    self.join(spoke)
                self.wait_ready()
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise
        return self

    def __exit__(self, kind, *_):
        if kind is not None:
            self.print_logs()
        for agent in self.agents.values():
            if agent.running():
                agent.kill()
        self.hub.kill()
        self.stand.stop()
        folder = os.environ.get("NAVE_KEEP_LOGS")
        if folder:
            keep_logs(self.folder, pathlib.Path(folder))
        shutil.rmtree(self.folder, ignore_errors=True)

    def join(self, spoke):
        self.navectl("cluster", "add", spoke.name, "--no-wait", "-l", f"name={spoke.name}")
        self.agents[spoke.name].install(self.navectl("cluster", "manifest", spoke.name))
        self.agents[spoke.name].start()

    def wait_ready(self, names=None):
        for name in names or self.agents:
            self.wait_phase(name, "Ready")

    def cluster(self, name):
        return self.navectl.json("get", f"cluster/{name}")

    def phase(self, name):
        return self.cluster(name).get("status", {}).get("phase")

    def wait_phase(self, name, phase, seconds=PATIENCE):
        def reached():
            self.hub.check()
            return self.phase(name) == phase
        wait_until(reached, seconds, lambda: f"cluster {name} is {self.phase(name)}, not {phase}\n"
                   + self.explain(name))

    def apply(self, text):
        return self.navectl("apply", "-f", "-", input=text)

    def bundle(self, name):
        return self.navectl.json("get", f"bundle/{name}")

    def condition(self, name, kind="Ready"):
        conditions = self.bundle(name).get("status", {}).get("conditions", [])
        return next((c for c in conditions if c["type"] == kind), {})

    def wait_bundle(self, name, seconds=PATIENCE):
        """Waits until the bundle is Ready with its present generation."""
        def ready():
            self.hub.check()
            found = self.bundle(name)
            status = found.get("status", {})
            seen = int(status.get("observedGeneration", 0)) >= int(found["metadata"].get("generation", 0))
            return seen and self.condition(name).get("status") == "True"
        wait_until(ready, seconds, lambda: f"bundle {name} is not ready\n{self.explain()}\n"
                   + self.navectl.run("why", f"bundle/{name}").stdout)

    def explain(self, *names):
        """What the hub and the agents say, for a failure."""
        text = [self.navectl.run("status").stdout]
        for name in names or self.agents:
            text.append(self.navectl.run("cluster", "why", name).stdout)
            text.append(f"-- log of the agent of {name}\n{self.agents[name].log_tail(12)}")
        return "\n".join(text)

    def print_logs(self):
        print(f"\n-- log of the hub\n{self.hub.log_tail()}", file=sys.stderr)
        for name, agent in self.agents.items():
            print(f"-- log of the agent of {name}\n{agent.log_tail()}", file=sys.stderr)


def keep_logs(source, target):
    """Copies every log below `source` to `target`, with its folder in the name."""
    target.mkdir(parents=True, exist_ok=True)
    for log in source.rglob("*.log"):
        shutil.copy(log, target / "-".join(log.relative_to(source).parts))


def wait_deployments(spoke, namespace, names, seconds=PATIENCE):
    """Waits until every named Deployment is Available with its present generation."""
    def missing():
        items = spoke.get(f"/apis/apps/v1/namespaces/{namespace}/deployments")["items"]
        available_now = set()
        for item in items:
            status = item.get("status", {})
            conditions = {c["type"]: c["status"] for c in status.get("conditions", [])}
            if (status.get("observedGeneration") == item["metadata"]["generation"]
                    and conditions.get("Available") == "True"
                    and status.get("updatedReplicas", 0) == item["spec"].get("replicas", 1)):
                available_now.add(item["metadata"]["name"])
        return sorted(set(names) - available_now)
    wait_until(lambda: not missing(), seconds, lambda: f"not available on {spoke.name}: {', '.join(missing())}")


def heal_time(change, is_right, seconds=30):
    """Seconds from the end of change() until is_right(). Failure after `seconds`."""
    change()
    started = time.monotonic()
    wait_until(is_right, seconds, "not healed")
    return time.monotonic() - started


def fingerprint(objects):
    """{key: (uid, generation, resourceVersion)} of Cluster.objects()."""
    return {key: (m["uid"], m.get("generation"), m["resourceVersion"]) for key, m in objects.items()}


def owned(spoke, label="nave.dev/assignment"):
    """The objects that bear our label, as fingerprints."""
    return fingerprint({key: m for key, m in spoke.objects().items() if label in (m.get("labels") or {})})
