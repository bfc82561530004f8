# Two units a user: a tmux server that nothing restarts, and a supervisor that may come and go.
(
  {
    agentHardening, agentPath, cfg, config, constants, daemon, env, graceMs, guidePath, home, keptRunning, lib,
    payload, pkgs, pointer, receivesWebhooks, runtime, seed, sudoRules, supervisorHardening, supervisorUnit, tmux,
    tmuxConf, tmuxUnit, webhookUnit, webhookUrl, ...
  }:
  let
    userPath =
      user:
      [ "${home user}/.nix-profile" config.nix.package ]
      ++ agentPath
      ++ [ pkgs.bashInteractive pkgs.coreutils pkgs.git pkgs.gh ]
      ++ lib.optional (sudoRules != [ ]) "/run/wrappers";

    inheritScript = pkgs.writeShellScript "agent-box-inherit" payload."scripts/inherit.sh";

    # No assertion would be reached: two definitions of one unit fail before it.
    users =
      let
        names = lib.attrNames cfg.users;
        units = map supervisorUnit (names ++ [ "update" "spot-monitor" ]) ++ map tmuxUnit names ++ map webhookUnit names;
      in
      lib.throwIfNot (lib.allUnique units)
        "services.agent-box.users: two users, or a user and the box itself, would share a unit; rename the user called `update`, `spot-monitor`, `<another user>-tmux` or `webhook-<another user>`."
        names;

    # Of the names in the vendors' apps; where it is empty, the supervisor asks the kernel.
    hostLabel =
      if cfg.remoteControlHost == "" && cfg.web.enable then cfg.web.domain else cfg.remoteControlHost;

    # Root's, so that its user cannot point it elsewhere.
    inheritFile = user: "/run/agent-box/inherit-${user}";

    tmuxService = user: lib.mkMerge [
      (keptRunning user)
      {
        description = "Terminals of ${user}'s coding agents";
        wantedBy = [ "multi-user.target" ];
        # A rebuild must not end an agent: the server that runs stays until the next boot.
        restartIfChanged = false;
        # For the launchers' own use; agents get what the supervisor has.
        path = [ tmux ];
        environment.TMUX_TMPDIR = runtime user;
        serviceConfig = agentHardening user // {
          Type = "exec";
          RuntimeDirectory = lib.removePrefix "/run/" (runtime user);
          RuntimeDirectoryMode = "0700";
          # The socket, and the link to the program that serves it, outlive a restart of the server.
          RuntimeDirectoryPreserve = true;
          # Clients after a rebuild speak to this server with its own program.
          ExecStartPre = "${pkgs.coreutils}/bin/ln -sfn ${tmux}/bin/tmux ${runtime user}/tmux";
          ExecStart = "${tmux}/bin/tmux -L ${constants.socketName} -u -f ${tmuxConf} -D";
          # The unit counts as started when the server answers, not when it was executed.
          ExecStartPost = "${pkgs.bash}/bin/sh -c 'until ${tmux}/bin/tmux -L ${constants.socketName} -N list-sessions >/dev/null 2>&1; do sleep 0.02; done'";
          TimeoutStartSec = 30;
          # The launchers kill what is left after the grace time.
          TimeoutStopSec = cfg.graceTime + 10;
          # A group for each session below this unit's; the server sits in a leaf, as cgroup v2 demands.
          Delegate = true;
          DelegateSubgroup = "server";
          # One session that runs out of memory is that session's end, not everybody's.
          OOMPolicy = "continue";
          # With a user bus in reach, tmux moves panes into scopes of the user's manager: out of this
          # unit, its limits and its sandbox.
          UnsetEnvironment = "XDG_RUNTIME_DIR DBUS_SESSION_BUS_ADDRESS";
        };
      }
    ];

    supervisorService =
      user:
      let
        options = cfg.users.${user};
        files = cfg.environmentFiles ++ options.environmentFiles;
      in
      lib.mkMerge [
        (daemon user "supervise")
        {
          description = "Coding agent sessions of ${user}";
          wantedBy = [ "multi-user.target" ];
          # Wanted and followed, never required: a supervisor that stops or fails leaves the terminals
          # alone, and one whose server is gone waits for the next.
          wants = [ "network-online.target" "${tmuxUnit user}.service" ];
          after = [ "network-online.target" "${tmuxUnit user}.service" ];
          # Working directories below /tmp are the same for both.
          unitConfig.JoinsNamespaceOf = "${tmuxUnit user}.service";
          path = userPath user;
          environment = lib.mkMerge [
            {
              ${env.SESSIONS_SEED} = "${seed user}";
              ${env.GRACE_MS} = graceMs;
            }
            (lib.mkIf (hostLabel != "") { ${env.HOST_LABEL} = hostLabel; })
            (lib.mkIf (cfg.codexFullAccess && lib.elem "codex" cfg.installAgents) { ${env.CODEX_FULL_ACCESS} = "1"; })
            (lib.mkIf receivesWebhooks { ${env.WEBHOOK_URL} = webhookUrl user; })
            (lib.mkIf (options.agentsMd != null) {
              ${env.AGENTS_POINTER} = "${pointer user}";
              ${env.CLAUDE_GUIDE_TARGET} = "/etc/${guidePath user}";
            })
            (lib.mkIf (options.environment != { }) {
              ${env.INHERIT} = lib.concatStringsSep " " (lib.attrNames options.environment);
            })
            (lib.mapAttrs (_: lib.mkForce) options.environment)
          ];
          serviceConfig = supervisorHardening user // lib.optionalAttrs (files != [ ]) {
            # Agents inherit only variables that are listed. The names of those in the files are known
            # on the box alone, so they are listed there, before the supervisor starts.
            ExecStartPre = "+${inheritScript} ${inheritFile user} ${lib.escapeShellArgs files}";
            EnvironmentFile = files ++ [ "-${inheritFile user}" ];
          };
        }
      ];
  in
  {
    services.agent-box.files = [ tmuxConf inheritScript ];

    systemd.services = lib.mkMerge (
      map (user: {
        ${tmuxUnit user} = tmuxService user;
        ${supervisorUnit user} = supervisorService user;
      }) users
    );
  }
)
