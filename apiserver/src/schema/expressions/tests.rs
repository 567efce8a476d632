//! Rules that are refused, and rules that are held.
