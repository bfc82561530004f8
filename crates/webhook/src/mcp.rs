//! The MCP server that an agent sees.
