# The public address: Caddy, which hands webhooks to the receivers and shows nothing else yet.
(
  { cfg, lib, payload, pkgs, receivesWebhooks, webhookSocket, ... }:
  let
    users = lib.attrNames cfg.users;
    # No login stands before it, since every delivery is signed.
    route = user: lib.replaceStrings [ "@user@" "@socket@" ] [ user (webhookSocket user) ] payload."caddy/webhook.caddy";
    caddyfile = pkgs.writeText "agent-box-caddyfile" (
      lib.replaceStrings [ "@domain@" "@routes@" ]
        [ cfg.web.domain (lib.optionalString receivesWebhooks (lib.concatMapStrings route users)) ]
        payload."caddy/box.caddy"
    );
    withPassword = lib.filter (user: cfg.users.${user}.web.passwordHashFile != null) users;
  in
  lib.mkIf cfg.web.enable {
    services.agent-box.files = [ caddyfile ];
    services.caddy = {
      enable = true;
      configFile = caddyfile;
    };
    networking.firewall.allowedTCPPorts = [ 443 ];
    warnings = map (
      user: "services.agent-box.users.${user}.web.passwordHashFile has no effect: the pages that ask for a password are not part of this version."
    ) withPassword;
  }
)
