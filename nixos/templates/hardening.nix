# What the units may not do. checks/golden/security.md has the exposure systemd computes for each
# unit, and the reason for every point left open.
(
  { home, lib, runtime, sudoRules, tmuxUnit, ... }:
  let
    everyUnit = {
      LockPersonality = true;
      PrivateDevices = true;
      PrivateTmp = true;
      ProtectClock = true;
      ProtectControlGroups = true;
      ProtectHostname = true;
      ProtectKernelLogs = true;
      ProtectKernelModules = true;
      ProtectKernelTunables = true;
      ProtectSystem = "strict";
      RestrictRealtime = true;
      RestrictSUIDSGID = true;
    };

    # Programs of ours, of which it is known what they need: they call nobody, and what they are
    # called by are sockets of the file system.
    everyDaemon = everyUnit // {
      CapabilityBoundingSet = "";
      IPAddressDeny = "any";
      NoNewPrivileges = true;
      RestrictAddressFamilies = "AF_UNIX";
      RestrictNamespaces = true;
      SystemCallArchitectures = "native";
      SystemCallFilter = [ "@system-service" "~@privileged @resources" ];
    };

    # Those that read what comes from outside the box. A program that they run and that asks for
    # more is refused, not killed.
    everyListener = everyDaemon // {
      PrivateIPC = true;
      ProtectProc = "invisible";
      SystemCallErrorNumber = "EPERM";
      UMask = "0077";
    };

    # All control groups are read-only but for this, where the launchers make a group per session.
    sessionGroups = user: "-/sys/fs/cgroup/system.slice/${tmuxUnit user}.service";
  in
  {
    # The unit in which agents run: they install, compile, trace and sandbox things of their own, so
    # namespaces, the network, tracing and writable code stay theirs.
    agentHardening =
      user:
      everyUnit
      // {
        ReadWritePaths = [ (home user) (sessionGroups user) ];
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
    supervisorHardening =
      user:
      everyDaemon
      // {
        MemoryDenyWriteExecute = true;
        ReadWritePaths = [ (home user) (runtime user) (sessionGroups user) ];
      };

    # The receiver reads what strangers send, writes files of its user's home, and runs the wrapper:
    # a tmux client, and codex to leave a message for a session.
    # Left out: MemoryDenyWriteExecute (codex may be a JavaScript program).
    receiverHardening = user: everyListener // { ReadWritePaths = [ (home user) ]; };

    # Root, for it becomes each user in turn and asks systemd to stop units; it writes nothing, and
    # talks to the cloud's address of the link alone.
    spotHardening = everyListener // {
      CapabilityBoundingSet = [ "CAP_SETUID" "CAP_SETGID" ];
      IPAddressAllow = "169.254.169.254";
      MemoryDenyWriteExecute = true;
      ProcSubset = "pid";
      ProtectHome = "read-only";
      RestrictAddressFamilies = [ "AF_UNIX" "AF_INET" ];
      SystemCallFilter = [ "@system-service" "~@resources" ];
    };
  }
)
