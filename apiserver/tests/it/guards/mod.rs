//! Objects of which no two may be in each other's way, written by several writers through several servers.

mod history;
mod limits;
mod races;
mod subnet;
mod ways;
