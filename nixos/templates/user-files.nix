# Names and store files that belong to one user of the box.
(
  { cfg, constants, lib, payload, pkgs, receivesWebhooks, ... }:
  let
    # Bytes, or `2G` as people write it.
    bytes =
      size:
      if builtins.isString size then
        let
          parts = builtins.match "([0-9]+)([KMGT])" size;
          factor = { K = 1024; M = 1048576; G = 1073741824; T = 1099511627776; };
        in
        lib.toIntBase10 (lib.elemAt parts 0) * factor.${lib.elemAt parts 1}
      else
        size;

    limits = given: lib.filterAttrs (_: limit: limit != null) {
      memoryHigh = bytes given.memoryHigh;
      memoryMax = bytes given.memoryMax;
      inherit (given) tasksMax cpuWeight;
    };

    seedEntry =
      session:
      {
        inherit (session)
          agent extraArgs initialPrompt remoteControl remoteControlName resumePrompt skipPermissions
          workingDirectory;
        boxSessionId = null;
        hasRun = false;
      }
      // lib.optionalAttrs (limits session.limits != { }) { limits = limits session.limits; };
  in
  rec {
    home = user: "/home/${user}";
    runtime = user: "${constants.systemRuntime}${user}";
    supervisorUnit = user: "agent-box-${user}";
    tmuxUnit = user: "agent-box-${user}-tmux";
    webhookUnit = user: "agent-box-webhook-${user}";
    webhookSocket = user: "/run/agent-box-webhook/${user}.sock";
    guidePath = user: "agent-box-guides/AGENTS.${user}.md";

    # The sessions a user starts with: those declared, else one `main` from the user's own options.
    declaredSessions =
      user:
      let
        options = cfg.users.${user};
        resolved = lib.mapAttrs (
          _: session:
          session
          // {
            agent = if session.agent != null then session.agent else cfg.agent;
            workingDirectory = if session.workingDirectory != null then session.workingDirectory else home user;
          }
        );
        noLimits = { memoryHigh = null; memoryMax = null; tasksMax = null; cpuWeight = null; };
      in
      resolved (
        if options.sessions != { } then
          options.sessions
        else
          {
            main = {
              inherit (options) agent skipPermissions remoteControl remoteControlName workingDirectory extraArgs;
              initialPrompt = null;
              resumePrompt = null;
              limits = noLimits;
            };
          }
      );

    seed = user: pkgs.writeText "agent-box-${user}-sessions.json" (builtins.toJSON {
      version = 1;
      sessions = lib.mapAttrs (_: seedEntry) (declaredSessions user);
    });

    guide =
      user:
      payload."guides/AGENTS.md"
      + lib.optionalString receivesWebhooks "\n${payload."guides/webhook.md"}"
      + lib.optionalString (lib.trim cfg.users.${user}.agentsMd != "") "\n${cfg.users.${user}.agentsMd}";

    pointer = user: pkgs.writeText "agent-box-${user}-agents-pointer.md" (
      lib.replaceStrings [ "@guide@" ] [ "/etc/${guidePath user}" ] payload."guides/pointer.md"
    );

    tmuxConf = pkgs.writeText "agent-box-tmux.conf" payload."tmux.conf";

    # Sudo rules would be dead letters under NoNewPrivileges.
    sudoRules =
      cfg.sudoAllowlist
      ++ lib.optionals cfg.selfUpdate.enable [
        "/run/current-system/sw/bin/systemctl start agent-box-update.service"
        "/run/current-system/sw/bin/systemctl start --no-block agent-box-update.service"
      ];
  }
)
