# The last two minutes of a spot machine of a cloud; anywhere else the monitor ends at once.
(
  { cfg, lib, runtime, spotHardening, supervisorUnit, utils, ... }:
  let
    users = lib.attrNames cfg.users;
    given = option: values: lib.concatMap (value: [ option value ]) values;
  in
  lib.mkIf cfg.spotInterruption.enable {
    systemd.services.agent-box-spot-monitor = {
      description = "Notice that the cloud takes this machine back";
      wantedBy = [ "multi-user.target" ];
      wants = [ "network-online.target" ];
      after = [ "network-online.target" ];
      serviceConfig = spotHardening // {
        ExecStart = utils.escapeSystemdExecArgs (
          [ "${cfg.package}/bin/agent-box" "spot-monitor" ]
          ++ given "--runtime" (map runtime users)
          ++ given "--unit" (map (user: "${supervisorUnit user}.service") users)
          ++ [
            "--message" cfg.spotInterruption.message
            "--grace" (toString cfg.spotInterruption.gracePeriod)
            "--poll" (toString cfg.spotInterruption.pollInterval)
          ]
        );
        Restart = "on-failure";
        RestartSec = 5;
      };
    };
  }
)
