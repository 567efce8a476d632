//! Writing: what is sent, and what the answer means.

mod answer;
mod body;
mod fence;
mod trace;
mod writer;
