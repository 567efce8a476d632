//! Sources as caches want them: of `Arc`s of what is kept.

mod kept;
mod stream;

pub(crate) use kept::{as_they_come, projected};
use stream::Mapped;
