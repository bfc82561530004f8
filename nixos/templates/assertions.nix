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

    ofUser = user: [
      {
        # It becomes part of unit names, paths and the Caddyfile.
        assertion = builtins.match "[A-Za-z_][A-Za-z0-9_.-]{0,30}" user != null;
        message = ''services.agent-box.users: user name "${user}" must match [A-Za-z_][A-Za-z0-9_.-]{0,30}; rename it.'';
      }
    ]
    ++ map (name: {
      assertion = builtins.match "[A-Za-z_][A-Za-z0-9_]*" name != null;
      message = ''services.agent-box.users.${user}.environment: variable "${name}" must match [A-Za-z_][A-Za-z0-9_]*; rename it.'';
    }) (lib.attrNames cfg.users.${user}.environment)
    ++ lib.concatLists (lib.mapAttrsToList (ofSession user) (declaredSessions user));

    # The language of rules, as the receiver reads it: there a rule that cannot be read would
    # quietly want nothing.
    isScalar = it: !(builtins.isAttrs it || builtins.isList it);
    isNeedle = it: builtins.isString it && it != "";
    operands = {
      "in" = isScalar;
      notIn = isScalar;
      contains = isNeedle;
      notContains = isNeedle;
    };
    isRule =
      rule:
      let
        names = lib.attrNames rule;
        operator = lib.head (lib.remove "path" names);
      in
      builtins.isAttrs rule
      && (
        if names == [ "any" ] || names == [ "all" ] then
          lib.all (nested: builtins.isList nested && lib.all isRule nested) (lib.attrValues rule)
        else
          lib.length names == 2
          && builtins.isString (rule.path or null)
          && !lib.elem "" (lib.splitString "." rule.path)
          && operands ? ${operator}
          && builtins.isList rule.${operator}
          && lib.all operands.${operator} rule.${operator}
      );
    ofTopic =
      topic: rules:
      let
        where = ''services.agent-box.webhook.watchPolicy."${topic}"'';
        key = builtins.match "[A-Za-z0-9._-]+:([!-~]+)" topic;
        ofRule = name: {
          assertion = rules.${name} == null || isRule rules.${name};
          message = ''${where}.${name} is no rule; write { any = [ … ]; }, { all = [ … ]; }, or { path = "a.b"; in = [ … ]; } with one of in, notIn (scalars), contains, notContains (strings that are not empty).'';
        };
      in
      [
        {
          assertion = key != null && key != [ "*" ];
          message = ''${where} is no topic; write `source:key`, like "github:example/app" or "github:example/*".'';
        }
        (ofRule "when")
        (ofRule "drop")
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
    ++ lib.optional cfg.web.enable {
      assertion = cfg.web.user == null || lib.elem cfg.web.user users;
      message = ''services.agent-box.web.user is "${toString cfg.web.user}", who is not in services.agent-box.users; name one of those.'';
    }
    ++ lib.concatLists (lib.mapAttrsToList ofTopic cfg.webhook.watchPolicy)
    ++ lib.concatMap ofUser users;
  }
)
