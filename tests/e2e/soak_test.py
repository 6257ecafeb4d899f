#!/usr/bin/env python3
"""kill -9 of the agent and of the hub at random points while nothing changes: nothing may be written to what is right.

NAVE_KILLS: how often each is killed (50). NAVE_SEED: of the points in time.
"""

import random
import sys
import time

import apps
from fleet import AGENT_NAMESPACE, AGENT_USER, Fleet, owned, wait_deployments
from processes import wait_until
from steps import check, check_equal, number, run


def kill_often(fleet, process, kills, dice):
    """Kills and starts again; the time in between reaches from the first milliseconds to a settled session."""
    for _ in range(kills):
        time.sleep(dice.choice((0.05, 0.3, 1.0)) * dice.random() * 2)
        process.kill()
        process.start()
    for spoke in fleet.spokes:
        fleet.wait_phase(spoke.name, "Ready")


def story(steps):
    kills = number("NAVE_KILLS", 50)
    seed = number("NAVE_SEED", int(time.time()))
    dice = random.Random(seed)
    steps.note(f"{kills} kills of each, seed {seed}")
    own = apps.own_app()
    with steps.step("a control plane, a hub, an agent; the application runs"):
        fleet = Fleet(["newest"])
        fleet.__enter__()
    try:
        spoke = fleet.spokes[0]
        agent = fleet.agents[spoke.name]
        fleet.apply(apps.bundle(own.name, own.versions[0], "shop"))
        fleet.wait_bundle(own.name)
        wait_deployments(spoke, "shop", own.deployments())
        with steps.step("at rest"):
            before = settled(spoke)
            log_size = spoke.audit_size()
        with steps.step(f"{kills} times kill -9 of the agent"):
            kill_often(fleet, agent, kills, dice)
            fleet.wait_bundle(own.name)
        with steps.step(f"{kills} times kill -9 of the hub"):
            kill_often(fleet, fleet.hub, kills, dice)
            fleet.wait_bundle(own.name)
        with steps.step("uid, generation and resourceVersion of every owned object are unchanged, no write, no HOLD"):
            check_equal(owned(spoke), before, "owned objects")
            check_equal(spoke.audit_writes(AGENT_USER, log_size, outside=AGENT_NAMESPACE), [], "writes of the agent")
            check("OnHold" not in fleet.navectl("cluster", "why", spoke.name), "the cluster was on hold")
            check('"on hold"' not in agent.log.read_text(), "the agent's log tells of a HOLD")
    finally:
        fleet.__exit__(*sys.exc_info())


def settled(spoke):
    """The owned objects once the spoke's controllers have come to rest."""
    last = [None]

    def at_rest():
        found = owned(spoke)
        same = found == last[0]
        last[0] = found
        time.sleep(1.5)
        return found if same else None
    return wait_until(at_rest, 120, "the owned objects do not come to rest")


if __name__ == "__main__":
    run(story)
