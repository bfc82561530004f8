# What the types cannot say. Each message names the option and the way out.
(
  { cfg, declaredSessions, lib, ... }:
  let
    users = lib.attrNames cfg.users;
    ofSession =
      user: name: session:
      let
        where = ''services.agent-box.users.${user}: session "${name}"'';
        label = session.remoteControlName;
      in
      [
        {
          assertion = builtins.match "[A-Za-z0-9_-]{1,150}" name != null;
          message = "${where} must match [A-Za-z0-9_-]{1,150}; rename it.";
        }
        {
          assertion = lib.elem session.agent (cfg.installAgents ++ [ "shell" ]);
          message = ''${where} uses agent "${session.agent}", which is not in services.agent-box.installAgents; add it there, or name another agent.'';
        }
        {
          assertion = label == null || builtins.match "[^\n\r]+" label != null;
          message = "${where}: remoteControlName must be one line that is not empty; null derives one.";
        }
      ];
  in
  {
    assertions = [
      {
        assertion = users != [ ];
        message = "services.agent-box.enable is true but no users are defined in services.agent-box.users; add one, or disable it.";
      }
      {
        assertion = cfg.installAgents != [ ];
        message = "services.agent-box.installAgents must not be empty; name claude or codex.";
      }
    ]
    ++ lib.concatMap (user: lib.concatLists (lib.mapAttrsToList (ofSession user) (declaredSessions user))) users;
  }
)
