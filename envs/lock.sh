#!/bin/sh
# Renew envs/requirements.lock: pinned, hash-checked, for every Python from 3.11 on, without any index address. Needs uv.
set -eu
cd "$(dirname "$0")/.."
uv pip compile pyproject.toml --extra workflow --extra test --extra docs --extra peers --extra cluster --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-emit-find-links --no-header --quiet --upgrade --output-file envs/requirements.lock
