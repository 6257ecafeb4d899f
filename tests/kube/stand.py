#!/usr/bin/env python3
"""Real Kubernetes control planes for the tests, on 127.0.0.1, without kubelets.

    stand.py run [--spokes v1.37.2,v1.34.4] -- COMMAND [ARGS...]

starts one control plane per version (default: the newest and the oldest of versions.env), runs the command with
NAVE_KUBECONFIGS (the admin kubeconfigs, separated by ':'), NAVE_KUBE_VERSIONS (same order) and KUBECONFIG (the first)
in its environment, and stops everything. `newest` and `oldest` stand for the versions. The exit code is the command's.

As a library: `with Stand(["newest", "newest"]) as stand: stand.clusters[0].kubectl("get", "nodes")`.
"""

import argparse
import base64
import http.client
import json
import os
import pathlib
import secrets
import shutil
import signal
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from processes import Failure, Process, die_with_parent, reserve_port, wait_until  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
# A control plane is there after 3 to 5 s on a quiet machine.
PATIENCE = 180

AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
  - {level: None, verbs: [get, list, watch]}
  - {level: Metadata}
"""


def read_versions():
    lines = (HERE / "versions.env").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))


VERSIONS = read_versions()


def cache():
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "nave" / "kube"


def resolve_version(name):
    return {"newest": VERSIONS["KUBERNETES_NEWEST"], "oldest": VERSIONS["KUBERNETES_OLDEST"]}.get(name, name)


def binary(program, version):
    """The path of a server program, None when it is not built."""
    assets = os.environ.get("KUBEBUILDER_ASSETS")
    folder = {"etcd": f"etcd-{VERSIONS['ETCD']}", "kwok": f"kwok-{VERSIONS['KWOK']}"}.get(program, version)
    places = [pathlib.Path(assets) / program] if assets else []
    if (cache() / folder / ".done").exists():
        places.append(cache() / folder / program)
    return next((place for place in places if place.exists()), None)


def available(version):
    """Whether everything that a stand of this version needs is built."""
    programs = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok")
    return all(binary(program, resolve_version(version)) for program in programs)


def _openssl(*words, folder):
    done = subprocess.run(["openssl", *words], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Failure(f"openssl {words[0]}: {done.stderr}")


def _write_certificates(folder):
    """ca.crt, server.crt and server.key of the API server; sa.key, which signs ServiceAccount tokens."""
    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    _openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-days", "30", "-subj", "/CN=stand",
             "-addext", "keyUsage=critical,keyCertSign,cRLSign", folder=folder)
    _openssl("req", *key, "-keyout", "server.key", "-out", "server.csr", "-subj", "/CN=kube-apiserver", folder=folder)
    names = "IP:127.0.0.1,IP:10.96.0.1,DNS:localhost,DNS:kubernetes.default.svc"
    (folder / "server.ext").write_text(f"subjectAltName={names}\nextendedKeyUsage=serverAuth\n")
    _openssl("x509", "-req", "-in", "server.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "30",
             "-out", "server.crt", "-extfile", "server.ext", folder=folder)
    _openssl("genrsa", "-out", "sa.key", "2048", folder=folder)


class Cluster:
    """One control plane: etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok with two nodes."""

    def __init__(self, name, version, folder, keep=False):
        self.name = name
        self.version = resolve_version(version)
        self.folder = pathlib.Path(folder)
        self.kubeconfig = self.folder / "admin.kubeconfig"
        self.audit_log = self.folder / "audit.log"
        self._keep = keep
        self._token = secrets.token_hex(16)
        self._holders = []
        self._processes = {}

    # -- life ----------------------------------------------------------------------------------------------------------

    def launch(self):
        """Starts the servers; wait_ready() waits for them."""
        self.folder.mkdir(parents=True)
        ports = []
        for _ in range(3):
            port, holder = reserve_port()
            ports.append(port)
            self._holders.append(holder)
        client, peer, self.port = ports
        _write_certificates(self.folder)
        (self.folder / "tokens.csv").write_text(f'{self._token},admin,admin,"system:masters"\n')
        (self.folder / "audit.yaml").write_text(AUDIT_POLICY)
        self.write_kubeconfig(self.kubeconfig, self._token)
        self._start("etcd", "--name=stand", f"--data-dir={self.folder}/etcd", "--unsafe-no-fsync", "--log-level=warn",
                    "--socket-reuse-port=true", f"--listen-client-urls=http://127.0.0.1:{client}",
                    f"--advertise-client-urls=http://127.0.0.1:{client}", f"--listen-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-advertise-peer-urls=http://127.0.0.1:{peer}",
                    f"--initial-cluster=stand=http://127.0.0.1:{peer}")
        self._start("kube-apiserver", f"--etcd-servers=http://127.0.0.1:{client}", "--bind-address=127.0.0.1",
                    f"--secure-port={self.port}", "--permit-port-sharing=true", f"--cert-dir={self.folder}/certs",
                    f"--tls-cert-file={self.folder}/server.crt", f"--tls-private-key-file={self.folder}/server.key",
                    f"--service-account-key-file={self.folder}/sa.key",
                    f"--service-account-signing-key-file={self.folder}/sa.key",
                    "--service-account-issuer=https://kubernetes.default.svc", "--service-cluster-ip-range=10.96.0.0/16",
                    "--authorization-mode=Node,RBAC", f"--token-auth-file={self.folder}/tokens.csv",
                    "--allow-privileged=true", "--endpoint-reconciler-type=none",
                    f"--audit-policy-file={self.folder}/audit.yaml", f"--audit-log-path={self.audit_log}",
                    "--audit-log-maxsize=0", "--shutdown-delay-duration=0s")

    def wait_ready(self):
        """Waits for the API server, then starts what needs it."""
        self._wait_for_server()
        self._start("kube-controller-manager", f"--kubeconfig={self.kubeconfig}",
                    f"--service-account-private-key-file={self.folder}/sa.key", f"--root-ca-file={self.folder}/ca.crt",
                    "--use-service-account-credentials", "--leader-elect=false", "--secure-port=0")
        self._start("kube-scheduler", f"--kubeconfig={self.kubeconfig}", "--leader-elect=false", "--secure-port=0")
        for number in (1, 2):
            self.api("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", "metadata": {
                "name": f"node-{number}", "labels": {"kubernetes.io/hostname": f"node-{number}"}}})
        self._start("kwok", f"--kubeconfig={self.kubeconfig}", f"--config={HERE}/stages.yaml", "--manage-all-nodes",
                    "--cidr=10.0.0.1/24", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=40")

    def wait_usable(self):
        """Waits until pods can run: nodes ready, default ServiceAccount there."""
        def usable():
            for process in self._processes.values():
                process.check()
            nodes = self.get("/api/v1/nodes")["items"]
            ready = [n for n in nodes for c in n.get("status", {}).get("conditions", [])
                     if c["type"] == "Ready" and c["status"] == "True"]
            return len(ready) == 2 and self.api("GET", "/api/v1/namespaces/default/serviceaccounts/default")[0] == 200
        wait_until(usable, PATIENCE, f"{self.name}: nodes not ready; logs in {self.folder}")

    def stop(self):
        """Stops all servers; files stay until the stand goes."""
        # Nothing in a stand is worth an orderly end.
        for process in reversed(list(self._processes.values())):
            process.kill()
        self._processes = {}
        for holder in self._holders:
            holder.close()
        self._holders = []

    def restart_server(self):
        """Kills the API server and starts it again on its port."""
        process = self._processes["kube-apiserver"]
        process.kill()
        process.start()
        self._wait_for_server()

    def stop_server(self):
        self._processes["kube-apiserver"].kill()

    def pids(self):
        return [process.pid for process in self._processes.values()]

    def _start(self, program, *options):
        path = binary(program, self.version)
        if path is None:
            raise Failure(f"{program} {self.version} is not built: run ./dev setup --kube")
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder)}
        # A Go process per core is more than these need when several stands share the machine.
        self._processes[program] = Process(f"{self.name} {program}", [path, *options], self.folder / f"{program}.log",
                                           env=env, cwd=self.folder, keep=self._keep).start()

    def _wait_for_server(self):
        def ready():
            self._processes["etcd"].check()
            self._processes["kube-apiserver"].check()
            try:
                return self.api("GET", "/readyz")[0] == 200
            except (OSError, http.client.HTTPException):
                return False
        wait_until(ready, PATIENCE, lambda: f"{self.name} is not ready:\n"
                   + self._processes["kube-apiserver"].log_tail())

    # -- use -----------------------------------------------------------------------------------------------------------

    def write_kubeconfig(self, path, token):
        """A kubeconfig (YAML that is JSON) with this bearer token."""
        authority = base64.b64encode((self.folder / "ca.crt").read_bytes()).decode()
        config = {"apiVersion": "v1", "kind": "Config", "current-context": self.name,
                  "clusters": [{"name": self.name, "cluster": {"server": f"https://127.0.0.1:{self.port}",
                                                              "certificate-authority-data": authority}}],
                  "users": [{"name": "user", "user": {"token": token}}],
                  "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": "user"}}]}
        path = pathlib.Path(path)
        path.touch(mode=0o600)
        path.write_text(json.dumps(config, indent=1))
        return path

    def kubectl(self, *words, input=None, check=True):
        """Standard output of this version's kubectl; Failure on an exit code that is not 0 (with check)."""
        command = [str(binary("kubectl", self.version)), f"--kubeconfig={self.kubeconfig}",
                   f"--cache-dir={self.folder}/kubectl-cache", *map(str, words)]
        env = {"PATH": os.environ.get("PATH", ""), "HOME": str(self.folder)}
        done = subprocess.run(command, input=input, capture_output=True, text=True, env=env, check=False)
        if check and done.returncode != 0:
            raise Failure(f"kubectl {' '.join(map(str, words))} on {self.name}: {done.stderr.strip()}")
        return done.stdout

    def apply_text(self, text):
        """Applies YAML documents as a person would."""
        self.kubectl("apply", "-f", "-", input=text)

    def scale(self, namespace, deployment, replicas):
        self.kubectl("-n", namespace, "scale", f"deployment/{deployment}", f"--replicas={replicas}")

    def remove(self, path):
        """Deletes the object at an API path."""
        status, body = self.api("DELETE", path)
        if status not in (200, 202):
            raise Failure(f"DELETE {path} on {self.name}: {status} {body}")

    def api(self, method, path, body=None, content_type="application/json", token=None):
        """One request: (status, parsed JSON or text)."""
        context = ssl.create_default_context(cafile=str(self.folder / "ca.crt"))
        connection = http.client.HTTPSConnection("127.0.0.1", self.port, context=context, timeout=60)
        try:
            headers = {"Authorization": f"Bearer {token or self._token}", "Content-Type": content_type}
            data = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
            connection.request(method, path, data, headers)
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text)
        except ValueError:
            return answer.status, text

    def get(self, path):
        status, body = self.api("GET", path)
        if status != 200:
            raise Failure(f"GET {path} on {self.name}: {status} {body}")
        return body

    def find(self, path):
        """The object, None when there is none."""
        status, body = self.api("GET", path)
        if status not in (200, 404):
            raise Failure(f"GET {path} on {self.name}: {status} {body}")
        return body if status == 200 else None

    def service_account_token(self, namespace, name, seconds=86400):
        path = f"/api/v1/namespaces/{namespace}/serviceaccounts/{name}/token"
        status, body = self.api("POST", path, {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest",
                                               "spec": {"expirationSeconds": seconds}})
        if status != 201:
            raise Failure(f"token of {namespace}/{name} on {self.name}: {status} {body}")
        return body["status"]["token"]

    def objects(self, without=("Event", "Lease")):
        """Every object of every listable kind: {(group, kind, namespace, name): metadata}."""
        found = {}
        for resource in self._listable():
            for item in self.get(resource["path"])["items"]:
                metadata = item["metadata"]
                key = (resource["group"], resource["kind"], metadata.get("namespace", ""), metadata["name"])
                # What has no uid is computed, not stored (ComponentStatus).
                if resource["kind"] not in without and "uid" in metadata:
                    found[key] = metadata
        return found

    def _listable(self):
        roots = [("", "/api/v1")]
        for group in self.get("/apis")["groups"]:
            version = group["preferredVersion"]["groupVersion"]
            roots.append((group["name"], f"/apis/{version}"))
        for group, root in roots:
            status, found = self.api("GET", root)
            if status != 200:
                continue
            for resource in found["resources"]:
                if "list" in resource["verbs"] and "/" not in resource["name"]:
                    yield {"group": group, "kind": resource["kind"], "path": f"{root}/{resource['name']}"}

    def audit_writes(self, user, since=0, outside=None):
        """Writes of `user` that were not dry runs, from byte `since` of the log: [(verb, URI, status)].

        `outside`: leaves out the objects of that namespace.
        """
        writes = []
        with open(self.audit_log, "rb") as log:
            log.seek(since)
            for line in log:
                event = json.loads(line)
                if event["user"].get("username") != user or event["verb"] in ("get", "list", "watch"):
                    continue
                reference = event.get("objectRef") or {}
                if "dryRun=All" in event["requestURI"] or (outside and reference.get("namespace") == outside):
                    continue
                # Questions asked by POST; nothing is stored.
                if reference.get("apiGroup") in ("authorization.k8s.io", "authentication.k8s.io"):
                    continue
                writes.append((event["verb"], event["requestURI"], event.get("responseStatus", {}).get("code")))
        return writes

    def audit_size(self):
        return self.audit_log.stat().st_size


class Stand:
    """Several control planes in one temporary folder. A context manager that leaves nothing behind."""

    def __init__(self, versions=("newest",), folder=None, keep=False, names=None):
        self.folder = pathlib.Path(folder or tempfile.mkdtemp(prefix="nave-stand-"))
        self._own_folder = folder is None
        names = names or [f"spoke-{number + 1}" for number in range(len(versions))]
        self.clusters = [Cluster(name, version, self.folder / name, keep) for name, version in zip(names, versions)]

    def start(self):
        try:
            # Side by side, and all from this thread (see Process).
            for step in (Cluster.launch, Cluster.wait_ready, Cluster.wait_usable):
                for cluster in self.clusters:
                    step(cluster)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        for cluster in self.clusters:
            cluster.stop()
        if self._own_folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self.start()

    def __exit__(self, *error):
        self.stop()


def exit_on_signals():
    """SIGTERM and SIGHUP end the program through its `finally` clauses, as SIGINT does."""
    def leave(number, _frame):
        raise SystemExit(128 + number)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, leave)


def main():
    words = sys.argv[1:]
    options, command = (words[:words.index("--")], words[words.index("--") + 1:]) if "--" in words else (words, [])
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["run"])
    parser.add_argument("--spokes", default="newest,oldest", help="versions, separated by commas")
    arguments = parser.parse_args(options)
    if not command:
        parser.error("no command")
    exit_on_signals()
    try:
        with Stand(arguments.spokes.split(",")) as stand:
            env = dict(os.environ)
            env["NAVE_KUBECONFIGS"] = ":".join(str(cluster.kubeconfig) for cluster in stand.clusters)
            env["NAVE_KUBE_VERSIONS"] = ":".join(cluster.version for cluster in stand.clusters)
            env["KUBECONFIG"] = str(stand.clusters[0].kubeconfig)
            return subprocess.run(command, env=env, check=False, preexec_fn=die_with_parent).returncode
    except Failure as failure:
        print(f"stand: {failure}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
