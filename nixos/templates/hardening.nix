# What the units may not do. checks/golden/security.md has the exposure systemd computes for each
# unit, and the reason for every point left open.
(
  { home, lib, runtime, sudoRules, tmuxUnit, ... }:
  {
    # The unit in which agents run: they install, compile, trace and sandbox things of their own, so
    # namespaces, the network, tracing and writable code stay theirs.
    agentHardening =
      user:
      {
        PrivateTmp = true;
        PrivateDevices = true;
        ProtectSystem = "strict";
        ProtectClock = true;
        ProtectKernelLogs = true;
        ProtectKernelModules = true;
        ProtectKernelTunables = true;
        # Read-only but for the unit's own subtree, where the launchers make a group per session.
        ProtectControlGroups = true;
        ReadWritePaths = [
          (home user)
          "-/sys/fs/cgroup/system.slice/${tmuxUnit user}.service"
        ];
        RestrictRealtime = true;
        RestrictSUIDSGID = true;
        LockPersonality = true;
        ProtectHostname = true;
        # What nobody without root's rights could call with success anyway.
        SystemCallFilter = "~@clock @cpu-emulation @module @obsolete @raw-io @reboot @swap";
        SystemCallErrorNumber = "EPERM";
        # Sudo gains privileges by design; without a rule nothing here needs any.
        NoNewPrivileges = sudoRules == [ ];
      }
      // lib.optionalAttrs (sudoRules == [ ]) {
        CapabilityBoundingSet = "";
      };

    # The supervisor runs tmux clients and edits files of its user's home; it runs no agent.
    # Left out: PrivateUsers (ptrace rules would hide the environment of agents, which says whose
    # they are), ProtectProc (hides processes that made themselves undumpable, as ssh-agent does),
    # PrivateNetwork and ProcSubset (both hide /proc/net/unix, which names a tmux server that lost
    # its socket).
    supervisorHardening = user: {
      PrivateTmp = true;
      PrivateDevices = true;
      ProtectSystem = "strict";
      ProtectClock = true;
      ProtectControlGroups = true;
      ReadWritePaths = [
        (home user)
        (runtime user)
        "-/sys/fs/cgroup/system.slice/${tmuxUnit user}.service"
      ];
      ProtectHostname = true;
      ProtectKernelLogs = true;
      ProtectKernelModules = true;
      ProtectKernelTunables = true;
      RestrictNamespaces = true;
      RestrictRealtime = true;
      RestrictSUIDSGID = true;
      RestrictAddressFamilies = "AF_UNIX";
      IPAddressDeny = "any";
      LockPersonality = true;
      MemoryDenyWriteExecute = true;
      NoNewPrivileges = true;
      CapabilityBoundingSet = "";
      SystemCallArchitectures = "native";
      SystemCallFilter = [ "@system-service" "~@privileged @resources" ];
    };

    # The receiver reads what strangers send, writes files of its user's home, and runs the wrapper:
    # a tmux client, and codex to leave a message for a session.
    # Left out: MemoryDenyWriteExecute (codex may be a JavaScript program).
    receiverHardening = user: {
      PrivateTmp = true;
      PrivateDevices = true;
      PrivateIPC = true;
      ProtectSystem = "strict";
      ProtectClock = true;
      ProtectControlGroups = true;
      ProtectProc = "invisible";
      ReadWritePaths = [ (home user) ];
      ProtectHostname = true;
      ProtectKernelLogs = true;
      ProtectKernelModules = true;
      ProtectKernelTunables = true;
      RestrictNamespaces = true;
      RestrictRealtime = true;
      RestrictSUIDSGID = true;
      # Its socket comes from systemd; it calls nobody.
      RestrictAddressFamilies = "AF_UNIX";
      IPAddressDeny = "any";
      LockPersonality = true;
      NoNewPrivileges = true;
      CapabilityBoundingSet = "";
      SystemCallArchitectures = "native";
      SystemCallFilter = [ "@system-service" "~@privileged @resources" ];
      # A program that it runs and that asks for more is refused, not killed.
      SystemCallErrorNumber = "EPERM";
      UMask = "0077";
    };

    # Root, for it becomes each user in turn and asks systemd to stop units; it writes nothing, and
    # talks to the cloud's address of the link alone.
    spotHardening = {
      PrivateTmp = true;
      PrivateDevices = true;
      PrivateIPC = true;
      ProtectSystem = "strict";
      ProtectHome = "read-only";
      ProtectClock = true;
      ProtectControlGroups = true;
      ProtectProc = "invisible";
      ProcSubset = "pid";
      ProtectHostname = true;
      ProtectKernelLogs = true;
      ProtectKernelModules = true;
      ProtectKernelTunables = true;
      RestrictNamespaces = true;
      RestrictRealtime = true;
      RestrictSUIDSGID = true;
      RestrictAddressFamilies = [ "AF_UNIX" "AF_INET" ];
      IPAddressDeny = "any";
      IPAddressAllow = "169.254.169.254";
      LockPersonality = true;
      MemoryDenyWriteExecute = true;
      NoNewPrivileges = true;
      CapabilityBoundingSet = [ "CAP_SETUID" "CAP_SETGID" ];
      SystemCallArchitectures = "native";
      SystemCallFilter = [ "@system-service" "~@resources" ];
      SystemCallErrorNumber = "EPERM";
      UMask = "0077";
    };
  }
)
