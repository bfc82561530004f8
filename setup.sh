#!/usr/bin/env bash
# One command for a fresh machine:
#   ./setup.sh up      install what is missing, build, and run `agent-box up`
#   ./setup.sh test    install what is missing, and pass every check
#   ./setup.sh slow    the long searches: thousands of interleavings, kills and model states
set -euo pipefail
cd "$(dirname "$0")"

target=${CARGO_TARGET_DIR:-target}
# Test builds of the programs have named pause and kill points.
testpoints=agent-box/testpoints,agent-box-webhook-spawn/testpoints
say() { printf '\n== %s (after %d min %02d s)\n' "$*" $((SECONDS / 60)) $((SECONDS % 60)); }
has() { command -v "$1" >/dev/null 2>&1; }

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; elif has sudo; then sudo "$@"; else
    echo "setup.sh: need root to run: $*  (install it yourself, then run this again)" >&2
    exit 1
  fi
}

# NixOS has no package manager to call: run the rest inside a shell that has everything.
if [ -e /etc/NIXOS ] && [ -z "${IN_NIX_SHELL:-}" ]; then
  exec nix-shell -p tmux gcc rustup procps git --run "./setup.sh $*"
fi

install_packages() {
  local missing=()
  has tmux || missing+=(tmux)
  has cc || missing+=(gcc libc6-dev)
  has ps || missing+=(procps)
  has curl || has cargo || missing+=(curl ca-certificates)
  [ ${#missing[@]} = 0 ] && return
  say "installing ${missing[*]}"
  if has apt-get; then
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update -q
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends "${missing[@]}"
  else
    echo "setup.sh: please install ${missing[*]} with this system's package manager" >&2
    exit 1
  fi
}

install_rust() {
  [ -f "$HOME/.cargo/env" ] && . "$HOME/.cargo/env"
  has cargo && return
  say "installing Rust by rustup"
  if ! has rustup; then
    curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs | sh -s -- -y --profile minimal --no-modify-path
    . "$HOME/.cargo/env"
  fi
  # The toolchain itself comes from rust-toolchain.toml at the first call of cargo.
  cargo --version
}

# What only some tests need; without it they say what was not proven.
install_test_tools() {
  local missing=()
  has nix-instantiate || missing+=(nix-bin)
  has caddy || missing+=(caddy)
  [ ${#missing[@]} = 0 ] && return
  has apt-get || { echo "setup.sh: no ${missing[*]} here; what they prove is left out"; return; }
  say "installing ${missing[*]} for the tests"
  # The tests start a Caddy of their own; no service of that name shall run beside it.
  as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
    apt-get install -qy --no-install-recommends "${missing[@]}" \
    || echo "setup.sh: ${missing[*]} could not be installed; what they prove is left out"
}

# Real payloads of GitHub, and the senders' own ways to sign. Optional, as the agents.
install_payloads() {
  local prefix=target/webhooks
  [ -d "$prefix/node_modules/@octokit/webhooks-methods" ] || {
    has npm || { echo "setup.sh: no npm here, so the tests with real payloads are left out"; return; }
    say "installing real webhook payloads for the tests"
    npm install --silent --no-audit --no-fund --prefix "$prefix" \
      @octokit/webhooks-examples@7.6.1 @octokit/webhooks-methods@6.0.0 \
      stripe@23.1.0 standardwebhooks@1.1.1 svix@1.99.1 || {
      echo "setup.sh: the payloads could not be installed; their tests are left out"; return; }
  }
  export AGENT_BOX_WEBHOOK_NPM="$PWD/$prefix"
  export AGENT_BOX_WEBHOOK_EXAMPLES="$PWD/$prefix/node_modules/@octokit/webhooks-examples"
}

# The real agent CLIs, for the tests that hold our command lines against them. Optional: without
# npm those tests say that they did not run.
install_agents() {
  local prefix=target/agents
  [ -x "$prefix/node_modules/.bin/codex" ] && [ -e "$prefix/node_modules/.bin/claude" ] || {
    has npm || { echo "setup.sh: no npm here, so the tests with the real agent CLIs are left out"; return; }
    say "installing the real agent CLIs for the tests"
    npm install --silent --no-audit --no-fund --prefix "$prefix" \
      @anthropic-ai/claude-code@2.1.332 @openai/codex@0.171.0 || {
      echo "setup.sh: the agent CLIs could not be installed; their tests are left out"; return; }
  }
  export AGENT_BOX_REAL_CLIS="$PWD/$prefix"
}

# The rendered units with the built programs under a real systemd, in a container: needs root and
# a Debian mirror. A container that cannot be had proves nothing; one that ran and failed, fails.
test_units() {
  if [ "$(id -u)" != 0 ] || ! has apt-get; then
    echo "setup.sh: the units are only run under a real systemd as root on Debian or Ubuntu"; return
  fi
  cargo build --locked --quiet --release -p agent-box -p agent-box-webhook-spawn -p agent-box-testkit --bins
  local log=target/testbed.log
  mkdir -p target
  if checks/testbed/run.sh "$target/release" > "$log" 2>&1; then
    grep -c '^ok' "$log" | sed 's/$/ checks of the units passed/'
  elif grep -q 'failures\?$' "$log"; then
    cat "$log"; return 1
  else
    tail -n 5 "$log"; echo "setup.sh: no container could be booted here, so the units were not run"
  fi
}

run_tests() { # profile, further arguments
  local profile=$1; shift
  if cargo nextest --version >/dev/null 2>&1; then
    cargo nextest run --locked --profile "$profile" "$@"
  elif [ "$profile" = default ]; then
    cargo test --locked "$@" -- --test-threads=4
  else
    cargo test --locked "$@"
  fi
}

case "${1:-}" in
  up)
    install_packages; install_rust
    say "building"
    cargo build --locked --release -p agent-box -p agent-box-webhook-spawn
    mkdir -p "$HOME/.local/bin"
    # A new file, not new bytes in the old one: launchers of the old version still run from it.
    for program in agent-box-webhook-spawn agent-box-pane agent-box; do
      install -m 0755 "$target/release/$program" "$HOME/.local/bin/.$program.new"
      mv -f "$HOME/.local/bin/.$program.new" "$HOME/.local/bin/$program"
    done
    for name in agent-box-session agent-box-webhook; do ln -sf agent-box "$HOME/.local/bin/$name"; done
    say "agent-box is in $HOME/.local/bin"
    case ":$PATH:" in *":$HOME/.local/bin:"*) ;; *) echo "   (put it on your PATH: export PATH=\"\$HOME/.local/bin:\$PATH\")" ;; esac
    exec "$HOME/.local/bin/agent-box" up
    ;;
  test)
    install_packages; install_rust; install_test_tools; install_agents; install_payloads
    say "format";  cargo fmt --all --check
    say "lints";   cargo clippy --locked --workspace --all-targets --features "$testpoints" -- -D warnings
    say "generated module"; cargo run --locked --quiet -p agent-box-assemble -- --check
    say "tests";   run_tests default --workspace --features "$testpoints"
    say "examples in the documentation"; cargo test --locked --workspace --doc
    say "documentation"; RUSTDOCFLAGS="-D warnings" cargo doc --locked --workspace --no-deps --quiet
    say "units under a real systemd"; test_units
    say "all checks passed"
    ;;
  slow)
    install_packages; install_rust; install_agents; install_payloads
    run_tests slow --workspace --features "$testpoints" --test slow
    ;;
  -h | --help)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    ;;
  *)
    sed -n '2,5s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
