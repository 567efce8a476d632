//! Plots of comparisons: factors beside those of peers.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::axis::LogAxis;
use crate::canvas::{
    COLORS, Canvas, Drawn, GRID, LABEL_SIZE, MAX_LINES, PlotError, draw, head_height, legend, shortened,
    text, text_width,
};
use crate::figure;

/// A row of a comparison.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ComparisonRow {
    /// Name of the row.
    pub name: String,
    /// Factor by which ours is better, by peer.
    pub factors: Vec<(String, f64)>,
    /// Factors that are goals, by peer.
    pub goals: Vec<(String, f64)>,
}

const WIDTH: i32 = 860;
const ROW_HEIGHT: i32 = 22;
const BOTTOM: i32 = 56;
const RIGHT: i32 = 40;
/// Longest names of rows and peers.
const NAME: usize = 40;

/// Plots the factors by which ours is better than each peer, as SVG: one row per figure, one colour
/// per peer, and a mark at the goal. Right of the line at 1× ours is better.
///
/// # Errors
/// None in practice: the picture is a text in memory.
pub fn comparison_plot(title: &str, rows: &[ComparisonRow]) -> Result<String, PlotError> {
    let mut peers: Vec<&str> = Vec::new();
    for (peer, _) in rows.iter().flat_map(|row| &row.factors) {
        if !peers.contains(&&**peer) {
            peers.push(peer);
        }
    }
    let hidden = peers.len().saturating_sub(MAX_LINES);
    peers.truncate(MAX_LINES);
    let mut names: Vec<String> = peers.iter().map(|peer| shortened(peer, NAME)).collect();
    if hidden > 0 {
        names.push(format!("{hidden} more"));
    }
    let head = head_height(&names, WIDTH);
    let rows_height = i32::try_from(rows.len()).unwrap_or(i32::MAX / ROW_HEIGHT / 2) * ROW_HEIGHT + 8;
    draw(&shortened(title, 80), (WIDTH, head + rows_height + BOTTOM), |canvas| {
        legend(canvas, &names, WIDTH)?;
        draw_rows(canvas, (head, rows_height), rows, &peers)
    })
}

fn draw_rows(
    canvas: &Canvas<'_>,
    (top, height): (i32, i32),
    rows: &[ComparisonRow],
    peers: &[&str],
) -> Drawn {
    let factors = rows.iter().flat_map(|row| row.factors.iter().chain(&row.goals).map(|(_, factor)| *factor));
    let axis = LogAxis::enclosing(factors.chain([1.0]));
    let names: Vec<String> = rows.iter().map(|row| shortened(&row.name, NAME)).collect();
    let left = names.iter().map(|name| text_width(name)).max().unwrap_or_default() + 24;
    let (low, high) = axis.range();
    let chart = ChartBuilder::on(canvas)
        .margin_top(top)
        .margin_left(left)
        .margin_right(RIGHT)
        .margin_bottom(BOTTOM)
        .build_cartesian_2d(low..high, 0.0..1.0)?;
    let x = |factor: f64| chart.backend_coord(&(axis.position(factor), 0.0)).0;
    let mut free = i32::MIN;
    for tick in &axis.ticks {
        let is_one = (tick - 1.0).abs() < 1e-9;
        let style = if is_one { BLACK.stroke_width(2) } else { GRID.stroke_width(1) };
        canvas.draw(&PathElement::new(vec![(x(*tick), top), (x(*tick), top + height)], style))?;
        let label = factor_text(*tick);
        let half = text_width(&label) / 2;
        if x(*tick) - half >= free {
            text(canvas, &label, (x(*tick), top + height + 6), LABEL_SIZE, HPos::Center, &BLACK)?;
            free = x(*tick) + half;
        }
    }
    let middle = i32::midpoint(left, WIDTH - RIGHT);
    let meaning = "ours is better than the peer by this factor; a bar is a goal beside the peer";
    text(canvas, meaning, (middle, top + height + 28), LABEL_SIZE, HPos::Center, &BLACK)?;
    let mut y = top + 4;
    for (row, name) in rows.iter().zip(&names) {
        let line = y + ROW_HEIGHT / 2;
        text(canvas, name, (left - 10, line - LABEL_SIZE / 2), LABEL_SIZE, HPos::Right, &BLACK)?;
        canvas.draw(&PathElement::new(vec![(left, line), (WIDTH - RIGHT, line)], GRID))?;
        let color = |peer: &String| {
            let at = peers.iter().position(|other| other == peer)?;
            COLORS.get(at)
        };
        for (peer, goal) in &row.goals {
            let mark = vec![(x(*goal), line - 8), (x(*goal), line + 8)];
            let style = color(peer).unwrap_or(&BLACK).stroke_width(3);
            canvas.draw(&PathElement::new(mark, style))?;
        }
        for (peer, factor) in &row.factors {
            if let Some(color) = color(peer) {
                canvas.draw(&Circle::new((x(*factor), line), 5, color.filled()))?;
            }
        }
        y += ROW_HEIGHT;
    }
    Ok(())
}

fn factor_text(factor: f64) -> String {
    if factor < 1.0 {
        format!("{factor}×")
    } else {
        format!("{}×", figure(factor).trim_end_matches(".00").trim_end_matches(".0"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canvas::tests::{assert_readable, attribute, labels};

    fn row(name: &str, factors: &[(&str, f64)], goals: &[(&str, f64)]) -> ComparisonRow {
        let owned =
            |all: &[(&str, f64)]| all.iter().map(|(peer, factor)| ((*peer).to_owned(), *factor)).collect();
        ComparisonRow { name: name.into(), factors: owned(factors), goals: owned(goals) }
    }

    #[test]
    fn p01_a_factor_is_drawn_at_its_tick() {
        let rows =
            [row("a", &[("etcd", 5.0), ("redb", 0.5)], &[("etcd", 2.0)]), row("b", &[("etcd", 1.0)], &[])];
        let svg = comparison_plot("store", &rows).unwrap();
        assert_readable(&svg);
        let labels = labels(&svg);
        let tick = |text: &str| labels.iter().find(|label| label.text == text).unwrap().middle();
        let circles: Vec<(f64, f64)> = svg
            .split("<circle")
            .skip(1)
            .map(|circle| {
                ["cx", "cy"].map(|name| attribute(circle, name).unwrap().parse::<f64>().unwrap()).into()
            })
            .collect();
        for ((x, y), (factor, row)) in circles.iter().zip([("5×", "a"), ("0.5×", "a"), ("1×", "b")]) {
            assert!((x - tick(factor).0).abs() <= 1.0, "{factor} {x}");
            assert!((y - tick(row).1).abs() <= 3.0, "{row} {y}");
        }
        assert_eq!(circles.len(), 3);
    }

    #[test]
    fn p03_empty_comparisons_give_a_plot() {
        assert_readable(&comparison_plot("none", &[]).unwrap());
        assert_readable(
            &comparison_plot("x", &[row("a", &[("b", f64::NAN), ("c", 0.0)], &[("b", -1.0)])]).unwrap(),
        );
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn p02_comparisons_are_readable(
            rows in prop::collection::vec(
                ("[a-z-]{1,60}", prop::collection::vec(("[a-c]{1,2}", -6.0_f64..6.0), 0..9)), 0..30
            ),
        ) {
            let rows: Vec<ComparisonRow> = rows
                .into_iter()
                .map(|(name, factors)| ComparisonRow {
                    name,
                    factors: factors.into_iter().map(|(peer, power)| (peer, 10_f64.powf(power))).collect(),
                    goals: vec![("a".into(), 1.5)],
                })
                .collect();
            assert_readable(&comparison_plot("comparison", &rows).unwrap());
        }
    }
}
