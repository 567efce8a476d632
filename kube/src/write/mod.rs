//! The write side: request bodies, headers, and the interpretation of responses.

mod body;
mod fence;
mod response;
mod trace;
mod writer;
