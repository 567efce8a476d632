//! The parser: [`token`] splits the text, [`parser`] builds the tree, and [`macros`] expand calls.

pub(crate) mod ast;
mod literal;
mod macros;
mod parser;
mod token;

pub(crate) use macros::UNUSED;
pub(crate) use parser::parse;
