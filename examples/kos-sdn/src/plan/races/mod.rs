//! The races of the talk that this system comes from, explored in every interleaving of their
//! steps; those of addresses are explored in the crate `controllers`. Races between two controllers
//! with creations and deletions have too many interleavings: some thousands are sampled, the same
//! ones each time.
//!
//! Each race is also run with the mistake that causes it, and the mistake must be found: this shows
//! that the exploration would notice.

mod moves;
mod subnets;
