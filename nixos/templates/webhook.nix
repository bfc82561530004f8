# The public address. So far it is one route: Caddy hands webhooks to the receiver's socket, without
# a login, since every delivery is signed.
(
  { cfg, lib, payload, pkgs, ... }:
  let
    route = user: lib.replaceStrings [ "@user@" ] [ user ] payload."caddy/webhook.caddy";
  in
  lib.mkIf cfg.web.enable {
    assertions = [
      {
        assertion = false;
        message = "services.agent-box.web.enable: the programs behind the address are not part of this version; leave it off.";
      }
    ];
    services.caddy = {
      enable = true;
      configFile = pkgs.writeText "agent-box-caddyfile" (
        lib.replaceStrings [ "@domain@" "@routes@" ]
          [ cfg.web.domain (lib.concatMapStrings route (lib.attrNames cfg.users)) ]
          payload."caddy/box.caddy"
      );
    };
    networking.firewall.allowedTCPPorts = [ 443 ];
  }
)
