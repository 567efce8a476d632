//! Informers whose filter changes while they run.

pub mod deliver;
mod reflect;
