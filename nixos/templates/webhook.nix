# One receiver of webhooks a user. systemd holds the socket, so that what is sent while a receiver
# restarts waits for it.
(
  {
    cfg, constants, daemon, env, home, lib, receiverHardening, receivesWebhooks, watchPolicy,
    webhookSettings, webhookSocket, webhookUnit, ...
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

    service = user: lib.mkMerge [
      (daemon user "webhook serve")
      {
        description = "Webhook receiver of ${user}";
        # Also without a request: what is stored may still be waiting for its effect.
        wantedBy = [ "multi-user.target" ];
        requires = [ "${webhookUnit user}.socket" ];
        after = [ "${webhookUnit user}.socket" ];
        environment = {
          ${env.WEBHOOK_STATE_DIR} = "${home user}/${constants.webhookState}";
          ${env.WEBHOOK_PORT} = "0";
          ${env.WEBHOOK_SPAWN_CMD} = "${cfg.package}/bin/agent-box-webhook-spawn";
        } // webhookSettings;
        serviceConfig = receiverHardening user;
      }
    ];
  in
  lib.mkIf receivesWebhooks {
    services.agent-box.files = [ watchPolicy ];
    systemd.sockets = ofUsers socket;
    systemd.services = ofUsers service;
  }
)
