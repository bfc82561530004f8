# Two people, declared sessions, limits, house rules, secrets, a right, and webhooks.
{
  services.agent-box = {
    enable = true;
    agent = "codex";
    remoteControlHost = "box.example.org";
    graceTime = 10;
    environmentFiles = [ "/run/secrets/agents.env" ];
    sudoAllowlist = [ "/run/current-system/sw/bin/systemctl restart my-app.service" ];

    web = {
      enable = true;
      domain = "box.example.org";
      user = "alice";
    };
    webhook.hookSessionArgs = [ "--model" "it's a model" ];

    users.alice = {
      extraGroups = [ "systemd-journal" ];
      environment.EDITOR = "nano";
      environmentFiles = [ "-/run/secrets/alice.env" ];
      agentsMd = "Commit small changes, and say why.";
      sessions = {
        main = { };
        review = {
          agent = "claude";
          workingDirectory = "/home/alice/src/app";
          extraArgs = [ "--model" "opus" ];
          initialPrompt = "Read the newest pull request and comment on it.";
          resumePrompt = "Go on with the review.";
          remoteControlName = "review of the day";
          limits = {
            memoryHigh = "3G";
            memoryMax = "4G";
            tasksMax = 512;
            cpuWeight = 50;
          };
        };
        tools = {
          agent = "shell";
          remoteControl = false;
        };
      };
    };

    users.bob = {
      agent = "shell";
      agentsMd = null;
    };
  };
}
