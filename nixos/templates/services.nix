# What the services of a user have in common.
(
  { agentBins, cfg, constants, env, home, lib, runtime, ... }:
  let
    # A switch changes it in one step: it ends no agent, and no socket is closed meanwhile.
    keptRunning = user: {
      stopIfChanged = false;
      startLimitIntervalSec = 0;
      environment.HOME = home user;
      serviceConfig = {
        User = user;
        WorkingDirectory = "~";
        Restart = "always";
        RestartSec = 1;
        # One descriptor per pane, session or sender.
        LimitNOFILE = 65536;
        # Agents go first; their launchers see to that.
        OOMScoreAdjust = lib.mkIf cfg.protectMemory (lib.mkDefault (-500));
      };
    };
  in
  {
    inherit keptRunning;

    # A verb of agent-box that works on its user's sessions and says when it is ready.
    daemon = user: verb: lib.mkMerge [
      (keptRunning user)
      {
        environment = {
          ${env.RUNTIME_DIR} = runtime user;
          ${env.TMUX_EXTERNAL} = "1";
          ${env.TMUX} = "${runtime user}/tmux";
          ${env.AGENT_BINS} = agentBins;
          ${env.DEFAULT_AGENT} = cfg.agent;
        };
        serviceConfig = {
          Type = "notify";
          ExecStart = "${cfg.package}/bin/agent-box ${verb}";
          TimeoutStopSec = 20;
        };
      }
    ];
  }
)
