# Options of agent-box before the receiver was part of it.
(
  lib:
  map
    (name: lib.mkRemovedOptionModule [ "services" "agent-box" "webhook" name ] "The receiver is part of agent-box and comes with it; nothing is fetched, pinned or synchronised any more.")
    [ "repo" "rev" "sha256" "syncSessionPlugin" ]
)
