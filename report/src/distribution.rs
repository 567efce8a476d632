//! Plots of distributions: latencies by percentile.

use plotters::prelude::*;
use plotters::style::text_anchor::HPos;

use crate::axis::LogAxis;
use crate::canvas::{
    COLORS, Canvas, Drawn, GRID, LABEL_SIZE, MAX_LINES, PlotError, draw, head_height, legend, shortened,
    text, text_width,
};
use crate::duration_text;

const WIDTH: i32 = 760;
const PLOT_HEIGHT: i32 = 290;
const BOTTOM: i32 = 46;
const LEFT: i32 = 84;
const RIGHT: i32 = 36;
/// Longest name in the legend.
const NAME: usize = 40;
/// Points closer than this on the axis of percentiles are one.
const RESOLUTION: f64 = 0.005;

/// Plots latencies in seconds by percentile, one line per named series, as SVG.
///
/// Both axes are logarithmic: that of percentiles has as much space from 90 to 99 % as from 99 to
/// 99.9 %, so that the slowest are visible.
///
/// # Errors
/// None in practice: the picture is a text in memory.
pub fn distribution_plot(title: &str, series: &[(String, Vec<f64>)]) -> Result<String, PlotError> {
    let lines: Vec<Line> =
        series.iter().take(MAX_LINES).map(|(name, samples)| Line::new(name, samples)).collect();
    let mut names: Vec<String> = lines.iter().map(|line| line.name.clone()).collect();
    if series.len() > MAX_LINES {
        names.push(format!("{} more", series.len() - MAX_LINES));
    }
    let head = head_height(&names, WIDTH);
    draw(&shortened(title, 80), (WIDTH, head + PLOT_HEIGHT + BOTTOM), |canvas| {
        legend(canvas, &names, WIDTH)?;
        draw_lines(canvas, head, &lines)
    })
}

struct Line {
    name: String,
    /// Finite samples in ascending order.
    sorted: Vec<f64>,
}

impl Line {
    fn new(name: &str, samples: &[f64]) -> Self {
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|sample| sample.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { name: format!("{} ({})", shortened(name, NAME), sorted.len()), sorted }
    }

    /// Returns the points: the nines of the share of samples up to each one, and the sample.
    #[allow(clippy::cast_precision_loss, reason = "a coordinate")]
    fn points(&self) -> Vec<(f64, f64)> {
        let number = self.sorted.len() as f64;
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (at, sample) in self.sorted.iter().enumerate() {
            // In the middle of the sample's share: the largest one stands for no 100 %.
            let nines = nines((at as f64 + 0.5) / number);
            let is_last = at + 1 == self.sorted.len();
            if is_last || points.last().is_none_or(|(before, _)| nines - before >= RESOLUTION) {
                points.push((nines, *sample));
            }
        }
        if let [only] = points[..] {
            points = vec![(0.0, only.1), only];
        }
        points
    }
}

/// Returns 1 for 90 %, 2 for 99 %, and so on.
fn nines(share: f64) -> f64 {
    -(1.0 - share).log10()
}

fn draw_lines(canvas: &Canvas<'_>, top: i32, lines: &[Line]) -> Drawn {
    let points: Vec<Vec<(f64, f64)>> = lines.iter().map(Line::points).collect();
    let latencies = LogAxis::enclosing(lines.iter().flat_map(|line| line.sorted.iter().copied()));
    let last = points.iter().flatten().map(|(nines, _)| *nines).fold(1.0, f64::max);
    let shares = share_ticks(last);
    let (low, high) = latencies.range();
    let mut chart = ChartBuilder::on(canvas)
        .margin_top(top)
        .margin_left(LEFT)
        .margin_right(RIGHT)
        .margin_bottom(BOTTOM)
        .build_cartesian_2d(0.0..last.max(shares.last().copied().unwrap_or(1.0)), low..high)?;
    let x = |nines: f64| chart.backend_coord(&(nines, low)).0;
    let y = |position: f64| chart.backend_coord(&(0.0, position)).1;
    let (left, right, bottom) = (LEFT, WIDTH - RIGHT, y(low));
    for (position, tick) in latencies.positions().into_iter().zip(&latencies.ticks) {
        canvas.draw(&PathElement::new(vec![(left, y(position)), (right, y(position))], GRID))?;
        let label = duration_text(*tick);
        text(canvas, &label, (left - 8, y(position) - LABEL_SIZE / 2), LABEL_SIZE, HPos::Right, &BLACK)?;
    }
    for nines in &shares {
        canvas.draw(&PathElement::new(vec![(x(*nines), y(high)), (x(*nines), bottom)], GRID))?;
        let label = share_text(*nines);
        let at = x(*nines).min(WIDTH - text_width(&label) / 2 - 2);
        text(canvas, &label, (at, bottom + 8), LABEL_SIZE, HPos::Center, &BLACK)?;
    }
    let axes = vec![(left, y(high)), (left, bottom), (right, bottom)];
    canvas.draw(&PathElement::new(axes, BLACK))?;
    for (points, color) in points.iter().zip(COLORS) {
        let path: Vec<(f64, f64)> =
            points.iter().map(|(nines, sample)| (*nines, latencies.position(*sample))).collect();
        if !path.is_empty() {
            chart.draw_series([PathElement::new(path, color.stroke_width(2))])?;
        }
    }
    Ok(())
}

/// Returns the ticks of the axis of percentiles, in nines, with space for their labels.
fn share_ticks(last: f64) -> Vec<f64> {
    let mut ticks = vec![0.0];
    let width_of_nine = f64::from(WIDTH - LEFT - RIGHT) / last;
    if nines(0.5) * width_of_nine >= f64::from(text_width("50 %")) {
        ticks.push(nines(0.5));
    }
    let mut nine = 1.0;
    while nine <= last + 1e-9 {
        ticks.push(nine);
        nine += 1.0;
    }
    ticks
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number of digits")]
fn share_text(nines: f64) -> String {
    if nines <= 0.0 {
        return "0 %".into();
    }
    if nines < 1.0 {
        return "50 %".into();
    }
    let digits = (nines.round() as usize).saturating_sub(2);
    format!("{:.digits$} %", 100.0 - 100.0 * 10_f64.powf(-nines))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canvas::tests::{assert_readable, attribute, labels};

    fn plot(title: &str, series: &[(&str, Vec<f64>)]) -> String {
        let series: Vec<_> =
            series.iter().map(|(name, samples)| ((*name).to_owned(), samples.clone())).collect();
        distribution_plot(title, &series).unwrap()
    }

    /// Returns the points of the thick lines.
    fn drawn(svg: &str) -> Vec<Vec<(f64, f64)>> {
        let lines =
            svg.split("<polyline").skip(1).filter(|line| attribute(line, "stroke-width") == Some("2"));
        let point = |pair: &str| {
            let (x, y) = pair.split_once(',').unwrap();
            (x.parse().unwrap(), y.parse().unwrap())
        };
        lines.map(|line| attribute(line, "points").unwrap().split_whitespace().map(point).collect()).collect()
    }

    /// The ticks once stood at the ends of the data instead of at their values.
    #[test]
    fn p01_a_sample_is_drawn_at_its_tick() {
        let svg = plot("x", &[("a", vec![0.005; 9]), ("b", vec![0.005, 0.1, 0.147])]);
        let labels = labels(&svg);
        let tick = |text: &str| labels.iter().find(|label| label.text == text).unwrap().middle();
        assert_eq!(labels.iter().filter(|label| label.text.ends_with(" ms")).count(), 6, "{labels:?}");
        let drawn = drawn(&svg);
        for (_, y) in &drawn[0] {
            assert!((y - tick("5 ms").1).abs() <= 2.0, "{y} {:?}", tick("5 ms"));
        }
        // The second of three samples stands for the median.
        let (x, y) = drawn[1][1];
        assert!((y - tick("100 ms").1).abs() <= 2.0 && (x - tick("50 %").0).abs() <= 1.0, "{x} {y}");
        let (_, most) = drawn[1][2];
        assert!(most < tick("100 ms").1 - 8.0 && most > tick("200 ms").1 + 8.0, "{most}");
    }

    #[test]
    fn p02_labels_of_the_percentiles_do_not_overlap() {
        let svg = plot("until <ready> & known", &[("from na", (1..2000).map(f64::from).collect())]);
        assert_readable(&svg);
        let labels: Vec<_> = labels(&svg).into_iter().map(|label| label.text).collect();
        for label in [
            "0 %",
            "50 %",
            "90 %",
            "99 %",
            "99.9 %",
            "1 s",
            "from na (1999)",
            "until &lt;ready&gt; &amp; known",
        ] {
            assert!(labels.iter().any(|other| other == label), "{label} {labels:?}");
        }
    }

    #[test]
    fn p03_degenerate_samples_give_a_plot() {
        for samples in [
            vec![],
            vec![f64::NAN],
            vec![-1.0, 0.0],
            vec![f64::MAX, f64::MIN_POSITIVE],
            vec![1.0; 5000],
            vec![f64::INFINITY],
        ] {
            let svg = plot("x", &[("x", samples)]);
            assert_readable(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.len() < 80_000, "{svg}");
        }
        assert_readable(&distribution_plot("nothing", &[]).unwrap());
    }

    #[test]
    fn p03_a_million_samples_are_a_small_picture() {
        let svg = plot("x", &[("x", (1..1_000_000).map(|at| f64::from(at) / 1e4).collect())]);
        assert_readable(&svg);
        assert!(svg.len() < 60_000, "{}", svg.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]
        #[test]
        fn p02_plots_are_readable(
            lines in prop::collection::vec(
                ("[a-zA-Zµ_<> ]{0,60}", prop::collection::vec(-8.0_f64..6.0, 0..40)), 0..9
            ),
            title in ".{0,120}",
        ) {
            let series: Vec<(String, Vec<f64>)> = lines
                .into_iter()
                .map(|(name, powers)| (name, powers.iter().map(|power| 10_f64.powf(*power)).collect()))
                .collect();
            let title: String = title.chars().filter(|letter| letter.is_ascii_graphic()).collect();
            assert_readable(&distribution_plot(&title, &series).unwrap());
        }
    }
}
