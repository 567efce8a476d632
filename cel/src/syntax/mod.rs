//! From text to a tree: [`token`] cuts it, [`parser`] builds, [`macros`] expand while it does.

pub(crate) mod ast;
mod literal;
mod macros;
mod parser;
mod token;

pub(crate) use macros::UNUSED;
pub(crate) use parser::parse;
