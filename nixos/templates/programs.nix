# Programs: ours, tmux, the agents, and what agents find on their PATH.
(
  { cfg, constants, env, lib, pkgs, source, ... }:
  let
    # The name carries a hash of the embedded text: a changed text under a stale output hash would
    # otherwise silently reuse the old tree.
    tag = builtins.substring 0 12 (builtins.hashString "sha256" (builtins.toJSON source.files));
    tree = pkgs.runCommand "agent-box-source-${tag}" {
      __structuredAttrs = true;
      sources = source.files;
      outputHashMode = "recursive";
      outputHashAlgo = "sha256";
      outputHash = source.hash;
    } ''
      for file in "''${!sources[@]}"; do
        mkdir -p "$out/$(dirname "$file")"
        printf %s "''${sources[$file]}" > "$out/$file"
      done
    '';

    agentNixpkgs =
      if cfg.selfUpdate.agentNixpkgs == null then
        pkgs
      else
        import (builtins.fetchTarball { inherit (cfg.selfUpdate.agentNixpkgs) url sha256; }) {
          inherit (pkgs.stdenv.hostPlatform) system;
          config.allowUnfreePredicate = package: lib.elem (lib.getName package) [ "claude-code" "codex" ];
        };
    agentPackage = kind: {
      claude = if cfg.agentPackages.claude != null then cfg.agentPackages.claude else agentNixpkgs.claude-code;
      codex = if cfg.agentPackages.codex != null then cfg.agentPackages.codex else agentNixpkgs.codex;
    }.${kind};
    agentProgram = kind: "${agentPackage kind}/bin/${kind}";
    shell = "${pkgs.bashInteractive}/bin/bash";

    tmux = pkgs.tmux.override { withUtempter = false; };
  in
  rec {
    inherit shell tmux;

    # Built from the source at the end of this file.
    builtPackage = pkgs.rustPlatform.buildRustPackage {
      pname = "agent-box";
      inherit (constants) version;
      src = tree;
      cargoLock.lockFileContents = source.files."Cargo.lock";
      # The tests need tmux, processes and minutes; the project's own checks run them.
      doCheck = false;
      postInstall = ''
        for name in agent-box-session agent-box-webhook agent-box-webhook-self; do
          ln -s agent-box "$out/bin/$name"
        done
      '';
      meta = {
        description = "Keeps coding agents running in tmux sessions, exactly those you asked for";
        license = lib.licenses.mit;
        mainProgram = "agent-box";
        platforms = lib.platforms.linux;
      };
    };

    # `kind=/path` words; the shell is always there.
    agentBins = lib.concatStringsSep " " (
      map (kind: "${kind}=${agentProgram kind}") (lib.unique cfg.installAgents) ++ [ "shell=${shell}" ]
    );

    graceMs = toString (cfg.graceTime * 1000);

    receivesWebhooks = cfg.web.enable && cfg.webhook.enable;

    # Where senders reach a user's receiver.
    webhookUrl = user: "https://${cfg.web.domain}/${user}/webhook";

    watchPolicy = pkgs.writeText "agent-box-watch-policy.json" (builtins.toJSON cfg.webhook.watchPolicy);

    # What the receiver, the wrapper it runs and the commands must agree on.
    webhookSettings = lib.optionalAttrs receivesWebhooks (
      {
        ${env.HOOK_SESSION_MAX} = toString cfg.webhook.hookSessionMax;
        ${env.WEBHOOK_POLICY} = "${watchPolicy}";
      }
      // lib.optionalAttrs (cfg.webhook.hookSessionArgs != [ ]) {
        ${env.HOOK_SESSION_ARGS} = builtins.toJSON cfg.webhook.hookSessionArgs;
      }
    );

    # What people and agents call: the programs with this box's settings. `\u` asks the user
    # database, for an inherited USER may be anybody's.
    commands =
      let
        settings = {
          ${env.AGENT_BINS} = agentBins;
          ${env.DEFAULT_AGENT} = cfg.agent;
          ${env.GRACE_MS} = graceMs;
        } // webhookSettings;
        assignments = lib.mapAttrsToList (name: value: "${name}=${lib.escapeShellArg value}") settings;
        # A session has it already, as its user's configuration says.
        address = lib.optionalString receivesWebhooks " ${env.WEBHOOK_URL}=\"\${${env.WEBHOOK_URL}-${webhookUrl "\${user@P}"}}\"";
      in
      map (
        name:
        pkgs.writeShellScriptBin name ''
          user='\u'
          runtime=${constants.systemRuntime}''${user@P}
          export ${lib.concatStringsSep " " assignments}
          if [ -e "$runtime/tmux" ]; then
            export ${env.TMUX_EXTERNAL}=1 ${env.TMUX}="$runtime/tmux" ${env.TMUX_INSTALLED}=${tmux}/bin/tmux${address}
          else
            export ${env.TMUX}=${tmux}/bin/tmux
          fi
          exec ${cfg.package}/bin/${name} "$@"
        ''
      ) (
        [ "agent-box" "agent-box-session" ]
        ++ lib.optionals receivesWebhooks [ "agent-box-webhook" "agent-box-webhook-self" ]
      );

    # For agents, and for people who look after them.
    agentPath = lib.unique (
      commands
      ++ map agentPackage cfg.installAgents
      ++ [ tmux ]
      ++ (with pkgs; [
        bubblewrap which
        gawk diffutils gnupatch less file jq ripgrep
        gnutar gzip bzip2 xz zip unzip
        curl wget openssh rsync iputils iproute2 dnsutils netcat-gnu openssl gnupg
        procps psmisc util-linux
        python3 nano
      ])
      ++ cfg.extraPackages
    );
  }
)
