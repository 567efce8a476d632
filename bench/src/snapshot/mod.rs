//! The snapshot map beside client-go's cache, and beside maps under a reader-writer lock.
//!
//! [`rows`] lists the shapes and the rows they fill, [`shape`] defines the shapes; [`work`] runs
//! them on any [`cache::Cache`], [`go`] in a Go process (`bench/peers/go/cache.go`).

mod cache;
mod go;
mod locked;
mod object;
mod ours;
mod rows;
mod shape;
mod suite;
mod work;

pub(crate) use suite::run;
