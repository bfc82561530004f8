#!/usr/bin/env bash
# evaluate.sh: evaluates the nodes of every VM test and compiles its script, where there is no KVM.
# Needs nix-instantiate, jq and python3, and in NIXPKGS the path of a nixpkgs tree.
set -euo pipefail
cd "$(dirname "$0")"
[ -e "${NIXPKGS:-}/nixos/lib/eval-config.nix" ] || { echo "evaluate.sh: set NIXPKGS to a nixpkgs tree" >&2; exit 2; }
export NIX_CONFIG='substituters ='
for test in sessions webhook memory-protection update-keeps-agents; do
  nix-instantiate --eval --read-write-mode --strict --json ./evaluate.nix --arg nixpkgs "$NIXPKGS" \
    --arg module "$PWD/../../nixos/agent-box.nix" --arg test "./$test.nix" |
    jq -r .testScript | python3 -c "compile(__import__('sys').stdin.read(), '$test', 'exec')"
  echo "ok  $test"
done
