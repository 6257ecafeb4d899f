#!/usr/bin/env python3
"""A fleet of the newest and the oldest Kubernetes from joining to a clean removal.

The test's own application runs always; those in NAVE_MANIFESTS (a folder per application) too when it is set.
NAVE_HEALS: how often an edit and a deletion are healed (20).
"""

import contextlib
import json
import time

import apps
from fleet import Fleet, heal_time, wait_deployments
from processes import wait_until
from steps import check, check_equal, number, run

VERSIONS = ("newest", "oldest", "newest")


def namespaces_of(names):
    """Every second application goes into a namespace made by hand, which must stay; the others' go with their bundle."""
    return {name: (f"app-{name}", position % 2 == 0) for position, name in enumerate(names)}


def prepare(fleet, namespaces):
    """Makes the namespaces that exist before, each with an object that belongs to nobody of ours."""
    for spoke in fleet.spokes:
        for name, by_hand in namespaces.values():
            if by_hand:
                spoke.kubectl("create", "namespace", name)
                spoke.kubectl("-n", name, "create", "configmap", "foreign", "--from-literal=owner=somebody")
        spoke.kubectl("create", "namespace", "taken")
        spoke.kubectl("-n", "taken", "create", "configmap", "settings", "--from-literal=colour=blue")


def settled_objects(spoke):
    """The objects of a spoke once its own controllers have come to rest, without what belongs to the agent."""
    def snapshot():
        return {key: m["uid"] for key, m in spoke.objects().items() if key[2] != "nave-system"}
    while True:
        before = snapshot()
        time.sleep(2)
        if snapshot() == before:
            return before


def heal_rounds(steps, fleet, namespace, app):
    """Edits a Deployment and deletes a Service by turns; prints the worst time from the event until it is right again."""
    deployment = app.deployments(-1)[0]
    service = next(name for kind, name in app.kinds(-1) if kind == "Service")
    rounds = number("NAVE_HEALS", 20)
    worst = {"edit": 0.0, "deletion": 0.0}
    for turn in range(rounds):
        spoke = fleet.spokes[turn % len(fleet.spokes)]
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
        wanted = spoke.get(path)["spec"]["template"]["spec"]["containers"][0]["image"]

        def image():
            return spoke.get(path)["spec"]["template"]["spec"]["containers"][0]["image"]
        patch = json.dumps({"spec": {"template": {"spec": {"containers": [
            {"name": spoke.get(path)["spec"]["template"]["spec"]["containers"][0]["name"], "image": f"edited:{turn}"}]}}}})
        worst["edit"] = max(worst["edit"], heal_time(
            lambda: spoke.kubectl("-n", namespace, "patch", "deployment", deployment, "-p", patch),
            lambda: image() == wanted))

        place = f"/api/v1/namespaces/{namespace}/services/{service}"
        uid = spoke.get(place)["metadata"]["uid"]

        def made_again():
            found = spoke.find(place)
            return found is not None and found["metadata"]["uid"] != uid
        worst["deletion"] = max(worst["deletion"], heal_time(
            lambda: spoke.kubectl("-n", namespace, "delete", "service", service), made_again))
    steps.note(f"worst of {rounds}: edit {worst['edit']:.2f} s, deletion {worst['deletion']:.2f} s")


def refuse_taken(fleet):
    """A ConfigMap that exists with other content is refused and untouched; the rest of the bundle is not delayed."""
    path = "/api/v1/namespaces/taken/configmaps/settings"
    before = {spoke.name: spoke.get(path) for spoke in fleet.spokes}
    fleet.apply(apps.bundle("taker", [("settings.json", apps.config_map("settings", {"colour": "red"})),
                                      ("other.json", apps.config_map("other", {"colour": "red"}))], "taken"))
    for spoke in fleet.spokes:
        wait_until(lambda: spoke.find("/api/v1/namespaces/taken/configmaps/other"), 60, "the other object of the bundle")

    def told():
        done = fleet.navectl.run("why", "bundle/taker")
        return "NotOwned" in done.stdout or "NOT_OWNED" in done.stdout
    wait_until(told, 60, lambda: "NotOwned is not told: " + fleet.navectl.run("why", "bundle/taker").stdout)
    check(fleet.condition("taker").get("status") != "True", "a bundle with a refused object is Ready")
    for spoke in fleet.spokes:
        check_equal(spoke.get(path), before[spoke.name], f"the ConfigMap on {spoke.name}")


def remove(fleet, name):
    fleet.navectl("delete", f"bundle/{name}", f"--confirm={name}")
    check(fleet.navectl.run("get", f"bundle/{name}").returncode == 4, f"bundle {name} is still there")


def story(steps):
    own = apps.own_app()
    given = apps.given_apps()
    namespaces = namespaces_of([app.name for app in [own] + [app for app in given if app.deployments()]])
    with contextlib.ExitStack() as stack:
        with steps.step(f"{len(VERSIONS)} control planes and a hub; the agents join with their printed manifests"):
            fleet = stack.enter_context(Fleet(VERSIONS))
        with steps.step("what the clusters hold before"):
            prepare(fleet, namespaces)
            before = {spoke.name: settled_objects(spoke) for spoke in fleet.spokes}

        for app in [own] + given:
            namespace, _ = namespaces.get(app.name, (None, True))
            # The last two versions are the update.
            first = max(0, len(app.versions) - 2)
            with steps.step(f"{app.name} on every spoke"):
                fleet.apply(apps.bundle(app.name, app.versions[first], namespace))
                fleet.wait_bundle(app.name)
                for spoke in fleet.spokes:
                    if namespace:
                        wait_deployments(spoke, namespace, app.deployments(first))
            if first + 1 < len(app.versions):
                with steps.step(f"{app.name}: the next version"):
                    fleet.apply(apps.bundle(app.name, app.versions[-1], namespace))
                    fleet.wait_bundle(app.name)
                    for spoke in fleet.spokes:
                        wait_deployments(spoke, namespace, app.deployments(-1))
        for spoke in fleet.spokes:
            found = spoke.find(f"/api/v1/namespaces/{namespaces[own.name][0]}/configmaps/opening-hours")
            check(found is None, f"what version 2 no longer lists is still on {spoke.name}")

        with steps.step("a CustomResourceDefinition of 900 KiB"):
            fleet.apply(apps.bundle("large", [("probes.json", apps.large_crd())]))
            fleet.wait_bundle("large")
        with steps.step("edits and deletions are healed"):
            heal_rounds(steps, fleet, namespaces[own.name][0], own)
        with steps.step("what exists with other content is refused and untouched"):
            refuse_taken(fleet)
        with steps.step("the agent's account wrote everything"):
            for spoke in fleet.spokes:
                writes = spoke.audit_writes("system:serviceaccount:nave-system:nave-agent")
                check(writes, f"no write of the agent's account in the audit log of {spoke.name}")

        with steps.step("removal leaves nothing of ours and everything of others"):
            for name in [own.name, "large", "taker"] + [app.name for app in given]:
                remove(fleet, name)
            for spoke in fleet.spokes:
                wait_until(lambda: settled_objects(spoke) == before[spoke.name], 120,
                           lambda: difference(settled_objects(spoke), before[spoke.name]))


def difference(found, expected):
    return f"too much: {sorted(found.keys() - expected.keys())}, missing: {sorted(expected.keys() - found.keys())}"


if __name__ == "__main__":
    run(story)
