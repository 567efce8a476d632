//! A suite that every backend passes: one function per behaviour.
