#!/usr/bin/env python3
"""What is wrong with a hub's files, ports and settings, and with what users send, is refused with one clear error: what
happened, its reason code, and what to do next. Nothing is lost, nothing else stops. Needs no Kubernetes."""

import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

import apps
from fleet import Hub, clean_environment, programs
from processes import wait_until
from steps import check, check_equal, run


def start_fails(hub, reason):
    """Starts the hub: it must end by itself, say why with `reason`, and what to do next. Returns what it said."""
    hub.log.unlink(missing_ok=True)
    hub.launch()
    wait_until(lambda: not hub.running(), 60, f"the hub runs, {reason} was expected")
    text = hub.log.read_text(errors="replace")
    check(reason in text, f"expected {reason}, the hub said:\n{text}")
    check("Next:" in text, f"no next step:\n{text}")
    return text


def starts_again(hub):
    hub.start()
    check(hub.navectl.run("get", "bundles").returncode == 0, "the hub does not answer after the repair")
    hub.terminate()


def config_errors(steps, folder):
    with steps.step("an unknown key: the line and the nearest key"):
        file = folder / "bad.yaml"
        file.write_text("logFormat: json\ndataDri: /tmp\n")
        done = subprocess.run([programs() / "nave-hub", "--config", file], capture_output=True, text=True, check=False,
                              env=clean_environment(folder))
        check_equal(done.returncode, 78, "exit code")
        for word in ("CONFIG_INVALID", "line 2", "dataDri", "dataDir"):
            check(word in done.stderr, f"'{word}' is not in: {done.stderr}")


def port_in_use(steps, folder):
    with steps.step("a port in use is named"):
        with socket.socket() as other:
            other.bind(("127.0.0.1", 0))
            other.listen()
            hub = Hub(folder / "port")
            hub.ports["api"] = other.getsockname()[1]
            text = start_fails(hub, "PORT_IN_USE")
            check(str(hub.ports["api"]) in text, f"the port is not named:\n{text}")


def damaged_files(steps, folder):
    hub = Hub(folder / "damage").start()
    hub.terminate()
    whole = folder / "whole"
    shutil.copytree(hub.data, whole)

    def restore():
        shutil.rmtree(hub.data)
        shutil.copytree(whole, hub.data)
    for name, reason in (("ca.key", "CA_MISSING"), ("ca.crt", "CA_MISSING"), ("encryption.key", "KEY_MISSING")):
        with steps.step(f"a store without {name}: nothing new is made"):
            (hub.data / name).unlink()
            start_fails(hub, reason)
            check(not (hub.data / name).exists(), f"{name} was made anew")
            restore()
    with steps.step("a store of another hub"):
        (hub.data / "hub.id").write_text("00000000-0000-4000-8000-000000000000\n")
        start_fails(hub, "HUB_ID_MISMATCH")
        restore()
    with steps.step("a damaged database"):
        for path in hub.database_files():
            if path.name.endswith(("-wal", "-shm")):
                path.unlink()
            else:
                content = bytearray(path.read_bytes())
                content[:4096] = os.urandom(4096)
                path.write_bytes(content)
        start_fails(hub, "STORE_CORRUPT")
        restore()
    with steps.step("a second hub on the same data"):
        hub.start()
        second = Hub(folder / "second")
        second.data = hub.data
        start_fails(second, "STORE_IN_USE")
        check(hub.navectl.run("get", "bundles").returncode == 0, "the first hub was disturbed")
        hub.terminate()
    with steps.step("after each repair it starts as if nothing had been"):
        starts_again(hub)


def bad_manifests(steps, hub):
    good = apps.config_map("good", {"a": "b"})
    cases = [
        ("malformed YAML", "a: b\n---\nkind: [\n", ("MANIFEST_INVALID", "bad.yaml", "line")),
        ("a duplicate key", "apiVersion: v1\nkind: ConfigMap\nkind: Secret\nmetadata: {name: x}\n",
         ("DUPLICATE_KEY", "kind", "line 3")),
        ("the same object twice", good + "\n---\n" + good, ("DUPLICATE_OBJECT", "good")),
        ("an object without a name", "apiVersion: v1\nkind: ConfigMap\nmetadata: {}\n", ("MANIFEST_INVALID", "name")),
        ("an object over the limit", apps.config_map("big", {"a": "x" * (1 << 20)}), ("OBJECT_TOO_LARGE", "big")),
        ("no object at all", "# nothing\n", ("BUNDLE_EMPTY",)),
    ]
    for what, text, words in cases:
        with steps.step(f"a bundle with {what}"):
            done = hub.navectl.run("apply", "-f", "-", input=apps.bundle("bad", [("bad.yaml", text)]))
            check(done.returncode != 0, "it was accepted")
            for word in words:
                check(word in done.stderr, f"'{word}' is not in:\n{done.stderr}")
            check_equal(hub.navectl.run("get", "bundle/bad").returncode, 4, "exit code of get")
    for field, value in (("suspend", True), ("dependsOn", [{}]), ("adoption", "Always")):
        with steps.step(f"the field {field}, whose release has not come"):
            done = hub.navectl.run("apply", "-f", "-", input=apps.bundle("bad", [("good.json", good)], **{field: value}))
            check(done.returncode != 0 and "NOT_SUPPORTED_YET" in done.stderr, f"the answer is {done.stderr}")
    with steps.step("an unknown field: the nearest name"):
        text = json.loads(apps.bundle("bad", [("good.json", good)]))
        text["spec"]["defaultNamespac"] = "x"
        done = hub.navectl.run("apply", "-f", "-", input=json.dumps(text))
        check(done.returncode != 0 and "UNKNOWN_FIELD" in done.stderr and "defaultNamespace" in done.stderr,
              f"the answer is {done.stderr}")


def full_disk(steps, folder):
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk], capture_output=True,
                      check=False).returncode != 0:
        steps.note("a full disk: not tried, for this user may not mount a small one")
        return
    hub = Hub(disk / "hub")
    try:
        with steps.step("a full disk under the hub: writes are refused, reads go on, and with space writes too"):
            hub.start()
            hub.navectl("apply", "-f", "-", input=apps.bundle("first", [("a.json", apps.config_map("a", {"a": "b"}))]))
            noise = {f"k{n}": os.urandom(60000).hex() for n in range(6)}
            filler = disk / "filler"
            free = shutil.disk_usage(disk).free
            filler.write_bytes(b"x" * max(0, free - 200 * 1024))
            done = hub.navectl.run("apply", "-f", "-", input=apps.bundle("second", [("b.json", apps.config_map("b", noise))]))
            check(done.returncode != 0 and "DISK_FULL" in done.stderr, f"the answer is {done.stdout}{done.stderr}")
            check_equal(hub.navectl.run("get", "bundle/first").returncode, 0, "exit code of get")
            filler.unlink()
            hub.navectl("apply", "-f", "-", input=apps.bundle("third", [("c.json", apps.config_map("c", {"a": "b"}))]))
            check_equal(hub.navectl.run("get", "bundle/first").returncode, 0, "exit code of get")
            hub.terminate()
    finally:
        hub.kill()
        subprocess.run(["umount", disk], check=False)


def story(steps):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="nave-refusals-"))
    try:
        config_errors(steps, folder)
        port_in_use(steps, folder)
        damaged_files(steps, folder)
        hub = Hub(folder / "hub").start()
        try:
            bad_manifests(steps, hub)
            with steps.step("a hub that stops in order ends with 0; navectl then says so with 6"):
                check_equal(hub.terminate(), 0, "exit code of the hub")
                check_equal(hub.navectl.run("get", "bundles").returncode, 6, "exit code of navectl")
        finally:
            hub.kill()
        full_disk(steps, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(run(story))
