//! The store on disk beside etcd on the same disk.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a process that can be killed:
//! [`etcd`], driven by the Go peers through its client, or [`ours`], this program as a [`holder`]
//! of a store and its clients. [`measured`] runs the same steps on both, and measures the process
//! from outside.

mod etcd;
mod holder;
mod measured;
mod ours;
mod rows;
mod shape;
mod suite;

pub(crate) use holder::hold;
pub(crate) use suite::run;
