//! The launcher in each pane: gate, agent, exit report, post-mortem.
