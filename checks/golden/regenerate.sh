#!/usr/bin/env bash
# regenerate.sh [--check]
#   Writes checks/golden/<example>/ from nixos/agent-box.nix and nixos/examples/<example>.nix, and
#   checks/golden/options.json from the module's options, or says how they differ.
#
#   Needs nix-instantiate, jq and perl, and in NIXPKGS the path of a nixpkgs tree (any tree with the
#   real NixOS modules and lib does: packages are evaluated, nothing is built).
set -euo pipefail
cd "$(dirname "$0")"
mapfile -t examples < <(basename -s .nix ../../nixos/examples/*.nix)

for program in nix-instantiate jq perl; do
  command -v "$program" > /dev/null || { echo "regenerate.sh: $program is missing; install it" >&2; exit 2; }
done
[ -e "${NIXPKGS:-}/nixos/lib/eval-config.nix" ] || { echo "regenerate.sh: set NIXPKGS to a nixpkgs tree" >&2; exit 2; }
module=$PWD/../../nixos/agent-box.nix
[ -e "$module" ] || { echo "regenerate.sh: nixos/agent-box.nix is missing; run assemble" >&2; exit 2; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export NIX_CONFIG='substituters ='
evaluate() {
  nix-instantiate --eval --strict --json "$@" --arg nixpkgs "$NIXPKGS" --arg module "$module" \
    2> "$out/errors" > "$out/json" || { cat "$out/errors" >&2; exit 1; }
}
mkdir "$out/golden"
evaluate ./options.nix
jq . "$out/json" > "$out/golden/options.json"
for example in "${examples[@]}"; do
  evaluate ./golden.nix --arg configuration "../../nixos/examples/$example.nix"
  ./lay-out.sh "$out/json" "$out/golden/$example"
done
# What the goldens were made from: the module without the source that it embeds.
sed '/^module {$/,$d' "$module" | sha256sum | cut -d' ' -f1 > "$out/golden/module.sha256"

if [ "${1:-}" = --check ]; then
  status=0
  for path in "${examples[@]}" options.json module.sha256; do diff -ruN "$path" "$out/golden/$path" || status=1; done
  [ $status = 0 ] || echo "the goldens are stale; run checks/golden/regenerate.sh and look at the difference" >&2
  exit $status
fi
rm -rf "${examples[@]}"
cp -r "$out/golden/." .
