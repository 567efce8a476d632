//! Adapters from sources to the streams that caches need: of `Arc`s of projected objects.

mod projection;
mod stream;

pub(crate) use projection::{projected, unprojected};
use stream::ProjectedWatch;
