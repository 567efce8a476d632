//! The kinds as OpenAPI: version 3 by group and version, and version 2 as one document.

mod documents;
mod gnostic;
mod name;
mod operation;
mod parameter;
mod schema;
mod swagger;

pub(crate) use documents::{OpenApi, hashed_url};
pub(crate) use schema::{Components, Described};

#[cfg(test)]
mod tests;
