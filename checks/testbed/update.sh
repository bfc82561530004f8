# The update script of the golden box, with a stub of the network and of the switch.

echo "-- agent-box-update"
stub=/run/stub
pins=/run/pins
old=0000000000000000000000000000000000000000
new=1111111111111111111111111111111111111111
mkdir -p $stub $pins /run/current-system/sw/bin
cat > $stub/curl <<'CURL'
#!/bin/bash
case "$*" in
  *commits/HEAD*) echo "{\"sha\": \"$(cat /run/stub/head)\"}" ;;
  *compare*) echo "{\"status\": \"$(cat /run/stub/status)\"}" ;;
  *raw.githubusercontent.com*/nixos/agent-box.nix)
    while [ "$1" != --output ]; do shift; done
    echo "a module" > "$2" ;;
  *channels.nixos.org*) cat /run/stub/channel ;;
  *) exit 22 ;;
esac
CURL
printf '#!/bin/bash\necho 0agents\n' > $stub/nix-prefetch-url
printf '#!/bin/bash\n[ "$1" = switch ] && [ ! -e /run/stub/broken ]\n' > /run/current-system/sw/bin/nixos-rebuild
chmod +x $stub/* /run/current-system/sw/bin/nixos-rebuild

update() {
  env PATH="$stub:$PATH" REPO=owner/name CURRENT_REV=$old PIN_FILE=$pins/box AGENT_PIN_FILE=$pins/agents \
    "$STORE-agent-box-update"
}
refused() { ! update && ! compgen -G "$pins/*"; }
pinned="{ rev = \"$new\"; sha256 = \"sha256-$(echo 'a module' | sha256sum | cut -d' ' -f1 | tr a-f A-F | basenc --decode --base16 | base64)\"; }"
agents_pinned='{ url = "https://releases.example.org/nixos-1/nixexprs.tar.xz"; sha256 = "0agents"; }'
pins_are() { [ "$(cat $pins/box 2> /dev/null)" = "$1" ] && [ "$(cat $pins/agents 2> /dev/null)" = "$2" ]; }

echo diverged > $stub/status
echo $new > $stub/head
check "an update that is not ahead is refused" refused
echo ahead > $stub/status
printf 'https://releases.example.org/${x}";' > $stub/channel
check "a channel whose address would be Nix text is refused" refused
printf https://releases.example.org/nixos-1 > $stub/channel
touch $stub/broken
check "a switch that fails leaves no pin behind" refused
rm $stub/broken
check "an update switches" update
check "the pins name what was fetched" pins_are "$pinned" "$agents_pinned"
echo "{ rev = \"before\"; }" > $pins/box
touch $stub/broken
failing() { ! update; }
check "a later switch that fails" failing
check "puts the earlier pins back" pins_are '{ rev = "before"; }' "$agents_pinned"
rm $stub/broken
echo $old > $stub/head
nothing_to_do() { update | grep '^already current'; }
check "nothing new changes nothing" nothing_to_do
check "and keeps the pins" pins_are '{ rev = "before"; }' "$agents_pinned"
