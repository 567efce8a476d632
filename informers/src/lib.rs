//! Informers whose filter changes while they run.

mod reflect;
