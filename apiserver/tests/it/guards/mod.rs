//! Objects of which no two may be in each other's way, written by several writers through several
//! servers.

mod cross;
mod deaf;
mod history;
mod limits;
mod older;
mod owners;
mod races;
mod subnet;
mod ways;
