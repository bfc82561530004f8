#!/usr/bin/env bash
# lay-out.sh JSON DIRECTORY: golden.nix's answer as files, without what differs from box to box:
# store hashes, and the versions of other packages.
set -euo pipefail
json=$(mktemp)
trap 'rm -f "$json"' EXIT
perl -pe 's{/nix/store/[a-z0-9]{32}-}{/nix/store/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee-}g;
  s{(/nix/store/e{32}-(?!agent-box)[^/\s":;\\]*?)-\d[^/\s":;\\]*}{$1}g' "$1" > "$json"
jq -r 'keys[]' "$json" | while IFS= read -r path; do
  mkdir -p "$(dirname "$2/$path")"
  jq -j --arg path "$path" '.[$path]' "$json" > "$2/$path"
done
