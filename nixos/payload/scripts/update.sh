# Moves the pins of this box to the newest agent-box and the newest agents, and switches to them.
# An update that cannot be built leaves the pins as they were.
set -euo pipefail

say() { echo "$*"; wall -n "agent-box: $*" || true; }

api() { curl --fail --silent --show-error --location --proto =https --max-time 60 "https://api.github.com/repos/$REPO/$1"; }

# write_pin FILE TEXT: keeps the old pin beside it, and puts the new one in its place at once.
touched=()
write_pin() {
  if [ -e "$1" ]; then cp -p "$1" "$1.prev"; else rm -f "$1.prev"; fi
  printf '%s\n' "$2" > "$1.new"
  sync "$1.new"
  mv "$1.new" "$1"
  touched+=("$1")
}

# However this ends: pins that were not switched to go back to what they were.
switched=
work=$(mktemp -d)
finish() {
  local pin
  rm -rf "$work"
  [ -z "$switched" ] || return 0
  for pin in "${touched[@]}"; do
    if [ -e "$pin.prev" ]; then mv "$pin.prev" "$pin"; else rm -f "$pin"; fi
  done
}
trap finish EXIT

target=$(api commits/HEAD | jq -r .sha)
if ! [[ $target =~ ^[0-9a-f]{40}$ ]]; then
  echo "refusing update: $REPO did not name a commit" >&2
  exit 1
fi
if [ "$target" != "$CURRENT_REV" ]; then
  # Only forwards: a rewritten branch or an older commit needs a person.
  status=$(api "compare/$CURRENT_REV...$target" | jq -r .status)
  if [ "$status" != ahead ]; then
    echo "refusing update: $target is not ahead of $CURRENT_REV ($status)" >&2
    exit 1
  fi
  curl --fail --silent --show-error --location --proto =https --max-time 300 --output "$work/agent-box.nix" \
    "https://raw.githubusercontent.com/$REPO/$target/nixos/agent-box.nix"
  hash=$(sha256sum "$work/agent-box.nix" | cut -d' ' -f1 | tr a-f A-F | basenc --decode --base16 | base64)
  write_pin "$PIN_FILE" "{ rev = \"$target\"; sha256 = \"sha256-$hash\"; }"
fi

channel=$(curl --fail --silent --show-error --location --proto =https --max-time 60 --head --output /dev/null \
  --write-out '%{url_effective}' https://channels.nixos.org/nixos-unstable)
url=${channel%/}/nixexprs.tar.xz
# It becomes part of a Nix text.
if ! [[ $url =~ ^https://[A-Za-z0-9./_+-]+$ ]]; then
  echo "refusing update: the channel has an unexpected address" >&2
  exit 1
fi
if ! grep -qsF "\"$url\"" "$AGENT_PIN_FILE"; then
  hash=$(nix-prefetch-url --unpack --type sha256 "$url")
  write_pin "$AGENT_PIN_FILE" "{ url = \"$url\"; sha256 = \"$hash\"; }"
fi

if [ ${#touched[@]} = 0 ]; then
  echo "already current: $CURRENT_REV"
  exit 0
fi
say "switching to ${target:0:12}; the sessions go on"
if ! /run/current-system/sw/bin/nixos-rebuild switch; then
  say "the update failed and was rolled back; see journalctl -u agent-box-update"
  exit 1
fi
switched=yes
say "switched to ${target:0:12}"
