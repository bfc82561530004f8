# What a scenario in the testbed is written with.

STORE=/nix/store/eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee

# lay_store GOLDEN: the store paths that its units name. Programs of other packages are this
# system's own.
lay_store() {
  local golden=$1 file target package
  mkdir -p /nix/store
  grep -rhoE "$STORE-[^/ \":;'=]+/s?bin" "$golden" | sort -u | while IFS= read -r target; do
    package=${target#"$STORE-"}
    case $package in
      agent-box/* | agent-box-session/* | agent-box-webhook/* | agent-box-webhook-self/* | claude-code/* | codex/*) ;;
      agent-box-*) mkdir -p "$target" && ln -sf /testbed/agent-box /testbed/agent-box-{pane,webhook-spawn} "$target/" &&
        for name in session webhook webhook-self; do ln -sf agent-box "$target/agent-box-$name"; done ;;
      *) mkdir -p "${target%/*}" && ln -sfn /usr/bin "$target" ;;
    esac
  done
  for kind in claude-code/bin/claude codex/bin/codex; do
    mkdir -p "$STORE-${kind%/*}"
    ln -sf /testbed/stub-agent "$STORE-$kind"
  done
  (cd "$golden/store" && find . -type f) | while IFS= read -r file; do
    target=$STORE-${file#./}
    mkdir -p "${target%/*}"
    cp "$golden/store/$file" "$target"
    if head -c2 "$target" | grep -q '^#!'; then chmod 755 "$target"; else chmod 444 "$target"; fi
  done
}

# lay GOLDEN: its store, files and units, as a switch of NixOS would lay them.
lay() {
  lay_store "$1"
  cp -r "$1/etc/." /etc/
  cp "$1"/units/* /etc/systemd/system/
  systemctl daemon-reload
}

failures=0
passed() { echo "ok    $*"; }
failed() { echo "FAIL  $*"; failures=$((failures + 1)); }

# check NAME COMMAND...: the command succeeds, within 20 seconds; an emulated machine takes longer
# for everything and sets CHECK_SECONDS.
check() {
  local name=$1 deadline=$((SECONDS + ${CHECK_SECONDS:-20})) output
  shift
  until output=$("$@" 2>&1); do
    if [ $SECONDS -ge $deadline ]; then
      printf -v output '%.400s' "$* said: $output"
      failed "$name: $output"
      return
    fi
    sleep 0.05
  done
  passed "$name"
}

# as USER COMMAND...: like that user at a login.
as() {
  local user=$1
  shift
  runuser -u "$user" -- env -i HOME="/home/$user" USER="$user" \
    PATH="$STORE-agent-box/bin:$STORE-agent-box-session/bin:$STORE-agent-box-webhook/bin:$STORE-agent-box-webhook-self/bin:/usr/bin:/usr/sbin" TERM=dumb "$@"
}

# state USER SESSION: as `agent-box ls` shows it.
state() { as "$1" agent-box ls --json | jq -r --arg name "$2" '.sessions[] | select(.name == $name) | .state.word'; }
is_state() { [ "$(state "$1" "$2")" = "$3" ]; }

# main_pid UNIT
main_pid() { systemctl show --property MainPID --value "$1.service"; }

# share_tmp USER: supervisor and terminals see one /tmp, which is not the system's.
share_tmp() {
  local one two
  one=$(stat -c %d:%i "/proc/$(main_pid "agent-box-$1")/root/tmp")
  two=$(stat -c %d:%i "/proc/$(main_pid "agent-box-$1-tmux")/root/tmp")
  [ "$one" = "$two" ] && [ "$one" != "$(stat -c %d:%i /tmp)" ]
}

# agents USER: the pids of the agents that run, in order.
agents() { pgrep -u "$1" -x 'claude|codex|bash|stub-agent' | sort -n | tr '\n' ' '; }
