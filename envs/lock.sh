#!/bin/sh
# Renew the three locks: pinned, hash-checked, for every Python from 3.11 on, without any index address. Needs uv.
# develop.lock holds everything; run.lock and release.lock are parts of it, so a package has one version in all three.
set -eu
cd "$(dirname "$0")/.."
lock() {
  file=$1; shift
  uv pip compile pyproject.toml "$@" --universal --python-version 3.11 --generate-hashes \
    --no-emit-index-url --no-emit-find-links --no-header --no-annotate --quiet --output-file "envs/$file"
}
lock develop.lock --extra workflow --extra releases --extra test --extra docs --extra peers --extra arviz "${@---upgrade}"
lock run.lock --extra workflow --constraints envs/develop.lock
lock release.lock --extra workflow --extra releases --constraints envs/develop.lock
