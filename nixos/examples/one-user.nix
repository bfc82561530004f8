# The smallest box: one user, whose session `main` runs the default agent.
{
  services.agent-box = {
    enable = true;
    users.alice = { };
  };
}
