#!/usr/bin/env python3
"""A hub whose database is replaced by an old copy, and one whose database is lost: nothing on a spoke is removed or
changed before a person has decided.

NAVE_REVISIONS: how many revisions the copy is behind (100). NAVE_WRITES: writes to the copy before the agents return
(200).
"""

import shutil
import sys
import time

import apps
from fleet import AGENT_NAMESPACE, AGENT_USER, Fleet, owned
from processes import wait_until
from steps import check, check_equal, number, run


def bundle(name, colour, count=3):
    """A bundle of a few ConfigMaps in a namespace of its own."""
    return apps.bundle(name, [(f"{n}.json", apps.config_map(f"{name}-{n}", {"colour": colour})) for n in range(count)],
                       f"space-{name}")


def churn(fleet, writes, start=0):
    """`writes` store revisions that place nothing."""
    for turn in range(start, start + writes):
        fleet.apply(apps.bundle("churn", [("c.json", apps.config_map("churn", {"turn": str(turn)}))],
                                placement={"names": ["nowhere"]}))


def colour(spoke, name, number_of=0):
    found = spoke.find(f"/api/v1/namespaces/space-{name}/configmaps/{name}-{number_of}")
    return found and found["data"]["colour"]


def uids(spoke):
    return {key: value[0] for key, value in owned(spoke).items()}


def stop_agents(fleet):
    for agent in fleet.agents.values():
        agent.terminate()


def start_agents(fleet):
    for agent in fleet.agents.values():
        agent.start()


def expect_hold(fleet, before, marks):
    """Every agent is in HOLD, and stays so; nothing changed."""
    for spoke in fleet.spokes:
        fleet.wait_phase(spoke.name, "OnHold")
    time.sleep(3)
    for spoke in fleet.spokes:
        check_equal(fleet.phase(spoke.name), "OnHold", spoke.name)
        check_equal(owned(spoke), before[spoke.name], f"owned objects of {spoke.name}")
        check_equal(spoke.audit_writes(AGENT_USER, marks[spoke.name], outside=AGENT_NAMESPACE), [], "writes of the agent")


def restored_copy(steps, fleet):
    behind = number("NAVE_REVISIONS", 100)
    writes = number("NAVE_WRITES", 200)
    copy = fleet.folder / "copy"
    with steps.step("three bundles run; a copy of the database is put aside"):
        for name in ("kept", "updated", "deleted"):
            fleet.apply(bundle(name, "old"))
            fleet.wait_bundle(name)
        fleet.hub.terminate()
        shutil.copytree(fleet.hub.data, copy)
        fleet.hub.start()
        fleet.wait_ready()
    with steps.step(f"life goes on for more than {behind} revisions"):
        churn(fleet, behind)
        fleet.apply(bundle("updated", "new"))
        fleet.apply(bundle("later", "new"))
        fleet.navectl("delete", "bundle/deleted", "--confirm=deleted")
        for name in ("updated", "later"):
            fleet.wait_bundle(name)
    with steps.step(f"the copy is put back and takes {writes} writes before the agents return"):
        stop_agents(fleet)
        fleet.hub.terminate()
        before = {spoke.name: owned(spoke) for spoke in fleet.spokes}
        marks = {spoke.name: spoke.audit_size() for spoke in fleet.spokes}
        names = [path.name for path in fleet.hub.database_files()]
        check(names, f"no database files in {fleet.hub.data}")
        for path in fleet.hub.database_files():
            path.unlink()
        for path in copy.iterdir():
            if path.name.split("-")[0] in {name.split("-")[0] for name in names}:
                shutil.copy(path, fleet.hub.data / path.name)
        fleet.hub.start()
        churn(fleet, writes, behind)
    with steps.step("the agents HOLD: nothing is removed or changed"):
        start_agents(fleet)
        expect_hold(fleet, before, marks)
    with steps.step("after `hub adopt` every key that the hub knows equals the hub, the others are NotDesired"):
        fleet.navectl("hub", "adopt")
        for name in ("kept", "updated", "deleted"):
            fleet.navectl.run("confirm", name)
            fleet.wait_bundle(name)
        for spoke in fleet.spokes:
            check_equal(colour(spoke, "updated"), "old", "the hub's present content")
            check_equal(colour(spoke, "deleted"), "old", "the bundle that the hub still knows")
            check_equal(colour(spoke, "later"), "new", "what the hub does not know")
            wait_until(lambda: "NotDesired" in fleet.navectl("describe", f"cluster/{spoke.name}"), 60,
                       lambda: "NotDesired is not listed: " + fleet.navectl("describe", f"cluster/{spoke.name}"))
    with steps.step("after `--remove-unclaimed`, confirmed, the spokes equal the hub"):
        fleet.navectl("hub", "adopt", "--remove-unclaimed", "--confirm=hub")
        for spoke in fleet.spokes:
            wait_until(lambda: spoke.find("/api/v1/namespaces/space-later") is None, 120, "space-later is still there")
            check_equal({key[2] for key in owned(spoke) if key[2]}, {"space-kept", "space-updated", "space-deleted"},
                        f"namespaces of {spoke.name}")
        fleet.wait_ready()


def lost_database(steps, fleet):
    names = ("kept", "updated", "deleted")
    with steps.step("the database is deleted: the agents are unknown and HOLD"):
        before = {spoke.name: owned(spoke) for spoke in fleet.spokes}
        same = {spoke.name: uids(spoke) for spoke in fleet.spokes}
        marks = {spoke.name: spoke.audit_size() for spoke in fleet.spokes}
        fleet.hub.terminate()
        for path in fleet.hub.database_files():
            path.unlink()
        fleet.hub.start()
        for spoke in fleet.spokes:
            wait_until(lambda: "UnknownToThisHub" in fleet.navectl("get", "clusters", "-o", "wide"), 120,
                       lambda: f"{spoke.name} is not shown: " + fleet.navectl("get", "clusters", "-o", "wide"))
        time.sleep(3)
        for spoke in fleet.spokes:
            check_equal(owned(spoke), before[spoke.name], f"owned objects of {spoke.name}")
            check_equal(spoke.audit_writes(AGENT_USER, marks[spoke.name], outside=AGENT_NAMESPACE), [], "writes")
    with steps.step("after `hub adopt --accept-unknown` nothing is removed"):
        fleet.navectl("hub", "adopt", "--accept-unknown")
        for spoke in fleet.spokes:
            wait_until(lambda: "NotDesired" in fleet.navectl.run("describe", f"cluster/{spoke.name}").stdout, 120,
                       lambda: "NotDesired is not listed: " + fleet.explain(spoke.name))
            check_equal(uids(spoke), same[spoke.name], f"uids of {spoke.name}")
    with steps.step("the same bundles applied again take their objects over"):
        for name in names:
            fleet.apply(bundle(name, "old"))
        for name in names:
            fleet.wait_bundle(name)
        for spoke in fleet.spokes:
            wait_until(lambda: "NotDesired" not in fleet.navectl("describe", f"cluster/{spoke.name}"), 60,
                       lambda: "NotDesired is left: " + fleet.navectl("describe", f"cluster/{spoke.name}"))
            check_equal(uids(spoke), same[spoke.name], f"uids of {spoke.name}")
        fleet.wait_ready()


def story(steps):
    with steps.step("two control planes and a hub; the agents join"):
        fleet = Fleet(["newest", "oldest"])
        fleet.__enter__()
    try:
        restored_copy(steps, fleet)
        lost_database(steps, fleet)
    finally:
        fleet.__exit__(*sys.exc_info())


if __name__ == "__main__":
    run(story)
