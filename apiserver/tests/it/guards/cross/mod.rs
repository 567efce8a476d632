//! Guards over several kinds, built-in ones included, and at deletions.

mod cascades;
mod deletions;
mod fixture;
mod history;
mod kinds;
mod references;
mod torn;
mod unique;
