# A box that GitHub can reach: failing builds and mentions start an agent, which knows its limits.
# After the switch: `agent-box webhook setup github`, and a watch as the policy names it,
#   agent-box webhook subscribe 'example/*' --deliver-to subagent
{
  services.agent-box = {
    enable = true;
    users.alice = { };
    # This one is no spot machine.
    spotInterruption.enable = false;

    web = {
      enable = true;
      domain = "box.example.org";
    };

    webhook = {
      hookSessionMax = 2;
      hookSessionArgs = [ "--model" "sonnet" ];
      watchPolicy."github:example/*" = {
        when.any = [
          {
            path = "workflow_run.conclusion";
            "in" = [ "failure" "timed_out" ];
          }
          {
            path = "comment.body";
            contains = [ "@example-bot" ];
          }
        ];
        # Or its own comments would start it again.
        ignoreSenders = [ "@self" ];
        note = "Find out why, and say so in a comment. Push nothing.";
      };
    };
  };
}
