//! The client against a scripted server.

mod broken_servers;
mod server;
mod sessions;
mod transactions;
