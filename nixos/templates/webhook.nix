# One receiver of webhooks a user. systemd holds the socket, so that what is sent while a receiver
# restarts waits for it.
(
  {
    agentBins, cfg, constants, env, home, lib, receiverHardening, receivesWebhooks, runtime,
    watchPolicy, webhookSettings, webhookSocket, webhookUnit, ...
  }:
  let
    users = lib.attrNames cfg.users;
    ofUsers = value: lib.listToAttrs (map (user: lib.nameValuePair (webhookUnit user) (value user)) users);

    socket = user: {
      description = "Webhooks for ${user}";
      wantedBy = [ "sockets.target" ];
      socketConfig = {
        ListenStream = webhookSocket user;
        SocketUser = user;
        SocketGroup = "caddy";
        SocketMode = "0660";
      };
    };

    service = user: {
      description = "Webhook receiver of ${user}";
      # Also without a request: what is stored may still be waiting for its effect.
      wantedBy = [ "multi-user.target" ];
      requires = [ "${webhookUnit user}.socket" ];
      after = [ "${webhookUnit user}.socket" ];
      # Else a switch would stop the socket too, and refuse what is sent meanwhile.
      stopIfChanged = false;
      startLimitIntervalSec = 0;
      environment = {
        HOME = home user;
        ${env.RUNTIME_DIR} = runtime user;
        ${env.TMUX_EXTERNAL} = "1";
        ${env.TMUX} = "${runtime user}/tmux";
        ${env.AGENT_BINS} = agentBins;
        ${env.DEFAULT_AGENT} = cfg.agent;
        ${env.WEBHOOK_STATE_DIR} = "${home user}/${constants.webhookState}";
        ${env.WEBHOOK_PORT} = "0";
        ${env.WEBHOOK_SPAWN_CMD} = "${cfg.package}/bin/agent-box-webhook-spawn";
      } // webhookSettings;
      serviceConfig = receiverHardening user // lib.optionalAttrs cfg.protectMemory {
        OOMScoreAdjust = lib.mkDefault (-500);
      } // {
        Type = "notify";
        User = user;
        WorkingDirectory = "~";
        ExecStart = "${cfg.package}/bin/agent-box webhook serve";
        Restart = "always";
        RestartSec = 1;
        TimeoutStopSec = 20;
        LimitNOFILE = 65536;
      };
    };
  in
  lib.mkIf receivesWebhooks {
    services.agent-box.files = [ watchPolicy ];
    systemd.sockets = ofUsers socket;
    systemd.services = ofUsers service;
  }
)
