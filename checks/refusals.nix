# Configurations that are no box, and what the module says of each: the option, and the way out.
let
  box = more: { services.agent-box = { enable = true; users.alice = { }; } // more; };
  session = name: it: box { users.alice.sessions.${name} = it; };
  rule = when: box { webhook.watchPolicy."github:example/*".when = when; };
  noRule = ''services.agent-box.webhook.watchPolicy."github:example/*".when is no rule; write { any = [ … ]; }, { all = [ … ]; }, or { path = "a.b"; in = [ … ]; } with one of in, notIn (scalars), contains, notContains (strings that are not empty).'';
  noLabel = ''services.agent-box.users.alice: session "main": remoteControlName must be one line that is not empty; null derives one.'';
  removed = "The receiver is part of agent-box and comes with it; nothing is fetched, pinned or synchronised any more.";
in
{
  noUser = {
    configuration = box { users = { }; };
    says = [ "services.agent-box.enable is true but no users are defined in services.agent-box.users; add one, or disable it." ];
  };
  noAgent = {
    configuration = box { installAgents = [ ]; users.alice.agent = "shell"; };
    says = [ "services.agent-box.installAgents must not be empty; name claude or codex." ];
  };
  absentAgent = {
    configuration = box { installAgents = [ "claude" ]; users.alice.agent = "codex"; };
    says = [ ''services.agent-box.users.alice: session "main" uses agent "codex", which is not in services.agent-box.installAgents; add it there, or name another agent.'' ];
  };
  absentAgentOfTheBox = {
    configuration = box { agent = "codex"; installAgents = [ "claude" ]; users.alice.sessions.work = { }; };
    says = [ ''services.agent-box.users.alice: session "work" uses agent "codex", which is not in services.agent-box.installAgents; add it there, or name another agent.'' ];
  };
  userName = {
    configuration = box { users."al@ice" = { }; };
    says = [ ''services.agent-box.users: user name "al@ice" must match [A-Za-z_][A-Za-z0-9_.-]{0,30}; rename it.'' ];
  };
  variableName = {
    configuration = box { users.alice.environment."TWO WORDS" = "x"; };
    says = [ ''services.agent-box.users.alice.environment: variable "TWO WORDS" must match [A-Za-z_][A-Za-z0-9_]*; rename it.'' ];
  };
  sessionName = {
    configuration = session "my session" { };
    says = [ ''services.agent-box.users.alice: session "my session" must match [A-Za-z0-9_-]{1,150}; rename it.'' ];
  };
  labelOfTwoLines = { configuration = session "main" { remoteControlName = "one\ntwo"; }; says = [ noLabel ]; };
  labelWithACarriageReturn = { configuration = session "main" { remoteControlName = "one\rtwo"; }; says = [ noLabel ]; };
  emptyLabel = { configuration = box { users.alice.remoteControlName = ""; }; says = [ noLabel ]; };
  webUser = {
    configuration = box { web = { enable = true; domain = "box.example.org"; user = "carol"; }; };
    says = [ ''services.agent-box.web.user is "carol", who is not in services.agent-box.users; name one of those.'' ];
  };
  topic = {
    configuration = box { webhook.watchPolicy."example/app" = { }; };
    says = [ ''services.agent-box.webhook.watchPolicy."example/app" is no topic; write `source:key`, like "github:example/app" or "github:example/*".'' ];
  };
  topicOfEverything = {
    configuration = box { webhook.watchPolicy."github:*" = { }; };
    says = [ ''services.agent-box.webhook.watchPolicy."github:*" is no topic; write `source:key`, like "github:example/app" or "github:example/*".'' ];
  };
  ruleWithoutPath = { configuration = rule { "in" = [ "opened" ]; }; says = [ noRule ]; };
  ruleWithoutTest = { configuration = rule { path = "action"; }; says = [ noRule ]; };
  ruleWithTwoTests = { configuration = rule { path = "action"; "in" = [ "a" ]; notIn = [ "b" ]; }; says = [ noRule ]; };
  ruleWithAStrangeTest = { configuration = rule { path = "action"; is = [ "opened" ]; }; says = [ noRule ]; };
  ruleOfOneValue = { configuration = rule { path = "action"; "in" = "opened"; }; says = [ noRule ]; };
  ruleOfNestedValues = { configuration = rule { path = "action"; "in" = [ [ "opened" ] ]; }; says = [ noRule ]; };
  ruleOfEmptyNeedles = { configuration = rule { path = "comment.body"; contains = [ "" ]; }; says = [ noRule ]; };
  ruleWithAnEmptyField = { configuration = rule { path = "comment..body"; contains = [ "@me" ]; }; says = [ noRule ]; };
  nestedRule = { configuration = rule { any = [ { all = [ { path = "action"; } ]; } ]; }; says = [ noRule ]; };
  receiversRepository = { configuration = box { webhook.repo = "example/receiver"; }; says = [ removed ]; };
  receiversRevision = { configuration = box { webhook.rev = "0"; }; says = [ removed ]; };
  receiversHash = { configuration = box { webhook.sha256 = "0"; }; says = [ removed ]; };
  receiversPlugin = { configuration = box { webhook.syncSessionPlugin = true; }; says = [ removed ]; };
}
