"""Simulated clusters in the place of real ones, for machines where the real servers are not built."""

import base64
import json
import pathlib
import re
import shutil
import subprocess
import tempfile

from processes import Failure, Process, wait_until
from stand import PATIENCE, Cluster


class SimCluster(Cluster):
    """One kubesim process with the face of a Cluster. It speaks HTTP/2 only, so requests go through curl."""

    def __init__(self, name, program, folder, keep=False):
        super().__init__(name, "kubesim", folder, keep)
        self._program = program

    def launch(self):
        self.folder.mkdir(parents=True)
        self._processes["kubesim"] = Process(
            f"{self.name} kubesim", [self._program, f"--kubeconfig={self.kubeconfig}", f"--token={self._token}"],
            self.folder / "kubesim.log", keep=self._keep).start()

    def wait_ready(self):
        def written():
            self._processes["kubesim"].check()
            return self.kubeconfig.exists()
        wait_until(written, PATIENCE, f"{self.name} wrote no kubeconfig")
        text = self.kubeconfig.read_text()
        self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", text).group(1))
        authority = re.search(r"certificate-authority-data[\"']?: *[\"']?([A-Za-z0-9+/=]+)", text).group(1)
        (self.folder / "ca.crt").write_bytes(base64.b64decode(authority))

    def wait_usable(self):
        # kube-system and default are there from the beginning.
        self.get("/api/v1/namespaces/default")

    def api(self, method, path, body=None, content_type="application/json", token=None):
        data = body if body is None or isinstance(body, str) else json.dumps(body)
        command = ["curl", "--silent", "--show-error", "--http2", "--noproxy", "*", "--cacert", str(self.folder / "ca.crt"),
                   "--request", method, "--write-out", "\n%{http_code}", "--header", f"Content-Type: {content_type}",
                   "--config", "-", f"https://127.0.0.1:{self.port}{path}"]
        # The token through standard input, the body through a file: neither is for the process table.
        with tempfile.NamedTemporaryFile("w", dir=self.folder) as file:
            if data is not None:
                file.write(data)
                file.flush()
                command += ["--data-binary", f"@{file.name}"]
            done = subprocess.run(command, input=f'header = "Authorization: Bearer {token or self._token}"\n',
                                  capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise OSError(f"{method} {path} on {self.name}: {done.stderr.strip()}")
        text, _, status = done.stdout.rpartition("\n")
        try:
            return int(status), json.loads(text)
        except ValueError:
            return int(status), text

    def kubectl(self, *words, **_):
        raise Failure(f"no kubectl for a simulated cluster: {' '.join(map(str, words))}")

    def apply_text(self, text):
        for document in re.split(r"^---.*$", text, flags=re.M):
            if not re.search(r"^kind:", document, flags=re.M):
                continue
            status, answer = self.api("PATCH", self._path(document) + "?fieldManager=kubectl", document,
                                      "application/apply-patch+yaml")
            if status not in (200, 201):
                raise Failure(f"apply on {self.name}: {status} {answer}\n{document}")

    def scale(self, namespace, deployment, replicas):
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
        status, answer = self.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")
        if status != 200:
            raise Failure(f"scale on {self.name}: {status} {answer}")

    def _path(self, document):
        """The path of the object that a YAML document describes."""
        def field(pattern):
            found = re.search(pattern, document, flags=re.M)
            return found.group(1).strip("'\"") if found else None
        version, kind = field(r"^apiVersion: *(\S+)"), field(r"^kind: *(\S+)")
        metadata = re.search(r"^metadata:\n((?:  .*\n)+)", document, flags=re.M).group(1)
        name = re.search(r"^  name: *(\S+)", metadata, flags=re.M).group(1).strip("'\"")
        namespace = re.search(r"^  namespace: *(\S+)", metadata, flags=re.M)
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        resource = next((r for r in self.get(root)["resources"] if r["kind"] == kind and "/" not in r["name"]), None)
        if resource is None:
            raise Failure(f"{self.name} does not serve {version} {kind}")
        if not resource["namespaced"]:
            return f"{root}/{resource['name']}/{name}"
        where = namespace.group(1).strip("'\"") if namespace else "default"
        return f"{root}/namespaces/{where}/{resource['name']}/{name}"


class SimStand:
    """Simulated clusters with the face of a Stand."""

    def __init__(self, count, program, folder, keep=False):
        self.folder = pathlib.Path(folder)
        self.clusters = [SimCluster(f"spoke-{number + 1}", program, self.folder / f"spoke-{number + 1}", keep)
                         for number in range(count)]

    def start(self):
        try:
            for step in (SimCluster.launch, SimCluster.wait_ready, SimCluster.wait_usable):
                for cluster in self.clusters:
                    step(cluster)
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self):
        for cluster in self.clusters:
            cluster.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
