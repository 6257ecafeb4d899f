#!/usr/bin/env python3
"""The whole story in a minute and a half: a hub, three clusters, an application, its health, a healed edit, an update
and a clean removal. Every step is checked; the exit code is not 0 when one fails.

    ./dev demo [--keep]
"""

import argparse
import os
import pathlib
import sys

import apps
from fleet import Fleet, available, heal_time, wait_deployments
from processes import wait_until
from stand import binary, resolve_version
from steps import check, check_equal, run

SPOKES = 3
NAMESPACE = "bookshop"


def show(fleet, *words):
    """Prints a command and what it says, as a user would see it."""
    print(f"\n  $ navectl {' '.join(words)}")
    for line in fleet.navectl(*words).splitlines():
        print(f"  {line}")
    print()


def objects(spoke):
    return {key for key in spoke.objects() if key[2] != "nave-system"}


def demo(steps, fleet):
    app = apps.own_app()
    spokes = fleet.spokes
    with steps.step("three control planes, a hub, an agent in each cluster: joined and Ready"):
        fleet.__enter__()
    show(fleet, "get", "clusters")
    before = {spoke.name: objects(spoke) for spoke in spokes}

    with steps.step("a bookshop of six services for all clusters: apply, and wait until it runs everywhere"):
        fleet.apply(apps.bundle(app.name, app.versions[0], NAMESPACE))
        fleet.wait_bundle(app.name)
        for spoke in spokes:
            wait_deployments(spoke, NAMESPACE, app.deployments())
    show(fleet, "status")

    with steps.step(f"somebody edits a Deployment in {spokes[1].name}: it is healed"):
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/frontend"

        def replicas():
            return spokes[1].get(path)["spec"]["replicas"]
        seconds = heal_time(lambda: spokes[1].scale(NAMESPACE, "frontend", 9), lambda: replicas() == 2)
    steps.note(f"right again {seconds:.2f} s after the edit")
    with steps.step(f"somebody deletes a Service in {spokes[2].name}: it is there again"):
        place = f"/api/v1/namespaces/{NAMESPACE}/services/catalog"
        seconds = heal_time(lambda: spokes[2].remove(place), lambda: spokes[2].find(place) is not None)
    steps.note(f"there again {seconds:.2f} s after the deletion")

    with steps.step("version 2 of the bookshop"):
        fleet.apply(apps.bundle(app.name, app.versions[1], NAMESPACE))
        fleet.wait_bundle(app.name)
        for spoke in spokes:
            wait_deployments(spoke, NAMESPACE, app.deployments(1))
            check_equal(spoke.get(path)["spec"]["replicas"], 3, f"replicas on {spoke.name}")
            check(spoke.find(f"/api/v1/namespaces/{NAMESPACE}/configmaps/opening-hours") is None,
                  f"what version 2 no longer lists is gone from {spoke.name}")
    show(fleet, "get", "bundles")
    return before


def remove(steps, fleet, before):
    with steps.step("the bookshop is removed: every cluster holds what it held before"):
        fleet.navectl("delete", "bundle/bookshop", "--confirm=bookshop")
        for spoke in fleet.spokes:
            wait_until(lambda: objects(spoke) == before[spoke.name], 60,
                       lambda: f"left on {spoke.name}: {sorted(objects(spoke) ^ before[spoke.name])}")


def what_to_try(fleet):
    kubectl = binary("kubectl", resolve_version("newest")) or "kubectl"
    print(f"""
Everything runs on. Try:

  export PATH={os.environ.get('NAVE_BIN', '')}:$PATH
  export NAVECTL_CONFIG={fleet.hub.data}/admin.yaml NAVECTL_HUB=127.0.0.1:{fleet.hub.ports['api']}
  navectl status
  navectl get clusters -o wide
  navectl why bundle/bookshop
  {kubectl} --kubeconfig {fleet.spokes[0].kubeconfig} -n {NAMESPACE} get deployments
  {kubectl} --kubeconfig {fleet.spokes[0].kubeconfig} -n {NAMESPACE} delete service catalog     # comes back

Stop it and remove its files:

  {fleet.folder}/stop
""")


def write_stop(fleet):
    """A script that ends what --keep left running."""
    pids = [fleet.hub.pid] + [agent.pid for agent in fleet.agents.values()]
    for spoke in fleet.spokes:
        pids += spoke.pids()
    stop = fleet.folder / "stop"
    stop.write_text(f"#!/bin/sh\nkill -9 {' '.join(map(str, pids))}\nrm -rf '{fleet.folder}'\n")
    stop.chmod(0o755)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave it running and say what to try")
    parser.add_argument("--bin", default=None, help="folder of the programs")
    arguments = parser.parse_args()
    if arguments.bin:
        os.environ["NAVE_BIN"] = str(pathlib.Path(arguments.bin).resolve())

    def story(steps):
        real = available("newest")
        if real:
            print(f"Nave on {SPOKES} real Kubernetes control planes ({resolve_version('newest')}), on this machine.")
        else:
            print(f"Nave on {SPOKES} simulated clusters; `./dev demo --kube` builds real Kubernetes first (13 minutes).")
        fleet = Fleet(["newest"] * SPOKES, keep=arguments.keep, simulated=not real)
        try:
            before = demo(steps, fleet)
            if arguments.keep:
                write_stop(fleet)
                what_to_try(fleet)
                return
            remove(steps, fleet, before)
        except BaseException:
            fleet.__exit__(*sys.exc_info())
            raise
        fleet.__exit__(None, None, None)
        check(not fleet.folder.exists(), f"{fleet.folder} is left behind")
    run(story)


if __name__ == "__main__":
    main()
