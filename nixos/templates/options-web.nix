# Options of the box's public address and of what comes in there.
(
  { lib, onUnlessRefused, orNull, words, ... }:
  let
    inherit (lib) mkEnableOption mkOption types;

    rules = types.submodule {
      options = {
        when = orNull types.attrs {
          example = {
            path = "action";
            "in" = [ "opened" "reopened" ];
          };
          description = "Only events that fulfil this start a session; null means all of them.";
        };
        drop = orNull types.attrs {
          example = {
            path = "sender.type";
            "in" = [ "Bot" ];
          };
          description = "Events that fulfil this start none, whatever {option}`when` says.";
        };
        ignoreSenders = words {
          example = [ "@self" "dependabot[bot]" ];
          description = "Whose events start no session; `@self` is the login that the box acts as.";
        };
        note = orNull types.str {
          example = "Triage it, and label it.";
          description = "What the started agent is told that the watch is for; null leaves the watch's own note.";
        };
      };
    };
  in
  {
    web = {
      enable = mkEnableOption ''
        the box's public address.
        In this version it takes webhooks, at `https://<domain>/<user>/webhook/<source>`, and has nothing else to show: any other page is answered with 404.
        Caddy serves it on port 443 and gets its certificate by itself'';

      domain = mkOption {
        type = types.strMatching "[A-Za-z0-9.:-]+";
        example = "box.example.org";
        description = "The domain under which the box is reached. It must lead to this machine, or Caddy gets no certificate.";
      };

      user = orNull types.str {
        example = "alice";
        description = ''
          Whose workspace the address itself shows; null means the first user.
          The workspace is not part of this version, so this has no effect yet.
        '';
      };

      fail2ban = onUnlessRefused ''
        Whether addresses that guess passwords are shut out.
        Nothing asks for a password in this version, so this has no effect yet; a delivery with a wrong signature never counts as a guess.
      '';
    };

    webhook = {
      enable = onUnlessRefused ''
        Whether each user has a receiver of webhooks, when {option}`services.agent-box.web.enable` is on.
        Nothing is accepted until the user has run `agent-box webhook setup`, and no delivery is believed without a signature.
      '';

      hookSessionMax = mkOption {
        type = types.ints.unsigned;
        default = 4;
        example = 2;
        description = "How many sessions that webhooks started a user may have at a time; further events wait. 0 starts none.";
      };

      hookSessionArgs = words {
        example = [ "--model" "sonnet" ];
        description = ''
          Further arguments of agents that webhooks start.
          A user can replace them by the variable `AGENT_BOX_HOOK_SESSION_ARGS`, a JSON array of strings (`agent-box env set`).
        '';
      };

      watchPolicy = mkOption {
        type = types.attrsOf rules;
        default = { };
        example = lib.literalExpression ''
          {
            "github:example/*" = {
              when.any = [
                { path = "action"; "in" = [ "opened" ]; }
                { path = "workflow_run.conclusion"; "in" = [ "failure" ]; }
              ];
              ignoreSenders = [ "@self" ];
              note = "Triage it.";
            };
          }
        '';
        description = ''
          Rules of standing watches, by topic (`source:key`, as in `agent-box webhook subscribe`).
          A watch that an agent or a person set on exactly such a topic follows these rules and not its own.
          They start no watch by themselves, and do not concern what running sessions are told.
        '';
      };
    };
  }
)
