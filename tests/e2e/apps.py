"""The applications that the end-to-end tests deploy, as bundle files."""

import json
import os
import pathlib
import re

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "apps"


class App:
    """A name and one or more versions, each a list of manifest files: [[(path, text), ...], ...]."""

    def __init__(self, name, versions):
        self.name = name
        self.versions = versions

    def kinds(self, version=0):
        """[(kind, name)] of the documents. Read with a pattern, for there is no YAML in Python's library."""
        found = []
        for _, text in self.versions[version]:
            for document in re.split(r"^---.*$", text, flags=re.M):
                kind = re.search(r"^kind: *(\S+)", document, flags=re.M)
                name = re.search(r"^metadata:\n(?:  .*\n)*?  name: *(\S+)", document, flags=re.M)
                if kind and name:
                    found.append((kind.group(1), name.group(1).strip("'\"")))
        return found

    def deployments(self, version=0):
        return sorted(name for kind, name in self.kinds(version) if kind == "Deployment")


def _version_key(path):
    return [int(number) for number in re.findall(r"\d+", path.stem)]


def read_app(folder):
    """Files named like versions (v1.yaml, v0.10.5.yaml) are versions; others are one version together."""
    files = sorted(pathlib.Path(folder).glob("*.yaml"))
    read = [(path.name, path.read_text()) for path in files]
    if files and all(re.fullmatch(r"v[\d.]+", path.stem) for path in files):
        return App(folder.name, [[(path.name, path.read_text())] for path in sorted(files, key=_version_key)])
    return App(folder.name, [read])


def own_app():
    return read_app(DATA / "bookshop")


def given_apps():
    """What NAVE_MANIFESTS names, a folder per application; none when it is not set."""
    root = os.environ.get("NAVE_MANIFESTS")
    if not root:
        return []
    folders = sorted(path for path in pathlib.Path(root).iterdir() if path.is_dir())
    return [app for app in map(read_app, folders) if app.versions[0]]


def bundle(name, files, namespace=None, placement=None, project="default", **spec):
    """A bundle in file form, as JSON text. `files`: [(path, text)]."""
    spec["manifests"] = [{"path": path, "content": text} for path, text in files]
    if namespace:
        spec["defaultNamespace"] = namespace
    spec["placement"] = placement or {"clusterSets": ["default"]}
    return json.dumps({"apiVersion": "nave.dev/v1", "kind": "Bundle",
                       "metadata": {"project": project, "name": name}, "spec": spec})


def config_map(name, data, namespace=None):
    metadata = {"name": name}
    if namespace:
        metadata["namespace"] = namespace
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data})


def large_crd(size=900 * 1024):
    """A CustomResourceDefinition of just about `size` bytes of JSON, with many described fields."""
    sentence = "Says how the probe behaves in this case, and what is to be done when it does not. "

    def crd(fields):
        properties = {f"field{number:04d}": {"type": "string", "description": sentence * 24} for number in range(fields)}
        return json.dumps({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "probes.large.example"},
            "spec": {"group": "large.example", "scope": "Namespaced",
                     "names": {"kind": "Probe", "plural": "probes", "singular": "probe", "listKind": "ProbeList"},
                     "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {
                         "type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}}}]}},
            separators=(",", ":"))
    one = len(crd(2)) - len(crd(1))
    return crd((size - len(crd(0))) // one)
