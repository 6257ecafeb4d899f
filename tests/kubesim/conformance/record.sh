#!/usr/bin/env bash
# Records what the real servers answer to the cases: record.sh BUILD_FOLDER. The newest version's answers are the golden
# ones; the oldest gets files of its own where it answers otherwise.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
build=$1
. "$here/../../kube/versions.env"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
for version in "$KUBERNETES_NEWEST" "$KUBERNETES_OLDEST"; do
  mkdir "$scratch/$version"
  NAVE_CONFORMANCE_RECORD="$scratch/$version" \
    python3 "$here/../../kube/stand.py" --spokes "$version" run -- "$build/bin/kube_conformance_test" --gtest_brief=1
done
rm -rf "$here/golden"
mkdir -p "$here/golden/${KUBERNETES_OLDEST//./_}"
cp "$scratch/$KUBERNETES_NEWEST"/*.yaml "$here/golden/"
for file in "$scratch/$KUBERNETES_OLDEST"/*.yaml; do
  cmp -s "$file" "$here/golden/$(basename "$file")" || cp "$file" "$here/golden/${KUBERNETES_OLDEST//./_}/"
done
