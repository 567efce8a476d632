//! Sources as caches want them: of `Arc`s of what is kept.

mod projection;
mod stream;

pub(crate) use projection::{projected, unprojected};
use stream::ProjectedWatch;
