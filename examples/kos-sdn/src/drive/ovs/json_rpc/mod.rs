//! JSON-RPC 1.0 over a unix socket, without framing.
