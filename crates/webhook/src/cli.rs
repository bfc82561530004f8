//! The verbs of `agent-box webhook`: what can be said. Behaviour is in one module per group.
