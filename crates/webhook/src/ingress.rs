//! Where deliveries come in: sources, signatures, limits, the HTTP server.
