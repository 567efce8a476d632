//! The store on a disk beside etcd on the same disk.
//!
//! [`rows`] lists the shapes and the rows they fill. A subject is a process that can be killed: [`etcd`], driven by the
//! Go peers through its own client, or [`ours`], which is this program again as a [`holder`] of a store and of those who
//! use it. [`measured`] runs the same steps on either, and looks at the process from outside.

mod etcd;
mod holder;
mod measured;
mod ours;
mod rows;
mod shape;
mod suite;

pub(crate) use holder::hold;
pub(crate) use suite::run;
