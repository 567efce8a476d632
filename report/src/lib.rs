//! Output of command-line programs: plots as SVG, a progress bar, text tables.
//!
//! [`distribution_plot`] shows latencies by percentile, [`comparison_plot`] figures beside those of
//! peers. [`Progress`] is a bar on a terminal and a few lines elsewhere. [`text_table`] aligns
//! columns.
//!
//! # Promises
//!
//! | # | claim | tests |
//! |---|---|---|
//! | 1 | Axes of values begin and end at ticks, and a value is drawn at the position of its tick | `p01_…` |
//! | 2 | No label overlaps another one or leaves the picture | `p02_…` ¹ |
//! | 3 | Any samples give a plot: none, one, equal, negative, infinite, millions | `p03_…` |
//! | 4 | Progress leaves nothing on a terminal; elsewhere it is a line at intervals | `p04_…` |
//! | 5 | Figures have three significant digits, with their unit | `p05_…` |
//!
//! - ¹ Over random samples, with names of up to 40 letters.
//!
//! # Limits
//!
//! - A plot has at most [`MAX_LINES`] lines; further ones are left out, and the legend says so.
//! - A logarithmic axis has no place for zero and negative values: they are drawn at its lower end.

#[cfg(feature = "plots")]
mod axis;
#[cfg(feature = "plots")]
mod canvas;
#[cfg(feature = "plots")]
mod comparison;
#[cfg(feature = "plots")]
mod distribution;
mod figures;
#[cfg(feature = "progress")]
mod progress;
mod table;

#[cfg(feature = "plots")]
pub use canvas::{MAX_LINES, PlotError};
#[cfg(feature = "plots")]
pub use comparison::{ComparisonRow, comparison_plot};
#[cfg(feature = "plots")]
pub use distribution::distribution_plot;
pub use figures::{duration_text, figure};
#[cfg(feature = "progress")]
pub use progress::Progress;
pub use table::text_table;
