//! Plots of cumulative distributions as SVG.

use std::fmt::Write as _;

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 320.0;
const MARGIN: f64 = 56.0;
/// Latencies above a day are drawn here.
const LONGEST: f64 = 1e5;
const COLORS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Plots the cumulative share of samples over the logarithm of seconds, one line per named series.
#[must_use]
#[allow(clippy::cast_precision_loss, reason = "a coordinate")]
pub fn plot(title: &str, lines: &[(String, Vec<f64>)]) -> String {
    let all = || lines.iter().flat_map(|(_, samples)| samples).copied().filter(|one| one.is_finite());
    let least = all().filter(|one| *one > 0.0).fold(f64::INFINITY, f64::min).clamp(1e-4, 1e3);
    let most = all().fold(least * 10.0, f64::max).min(LONGEST);
    let (low, high) = (least.log10().floor(), most.log10().ceil());
    let x = |seconds: f64| {
        let at = (seconds.clamp(least, most).log10() - low) / (high - low).max(1.0);
        MARGIN + at * (WIDTH - 2.0 * MARGIN)
    };
    let y = |share: f64| HEIGHT - MARGIN - share * (HEIGHT - 2.0 * MARGIN);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" font-family=\"sans-serif\" font-size=\"12\">\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/><text x=\"{MARGIN}\" y=\"24\" font-size=\"15\">{}</text>",
        escaped(title)
    );
    let mut power = low;
    while power <= high {
        let at = x(10_f64.powf(power));
        let (top, bottom) = (y(1.0), y(0.0));
        let _ = write!(
            svg,
            "<line x1=\"{at:.1}\" y1=\"{top:.1}\" x2=\"{at:.1}\" y2=\"{bottom:.1}\" stroke=\"#ddd\"/>\
             <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
            bottom + 18.0,
            time(10_f64.powf(power))
        );
        power += 1.0;
    }
    for share in [0.0, 0.5, 0.9, 0.99, 1.0] {
        let (at, end) = (y(share), WIDTH - MARGIN);
        let _ = write!(
            svg,
            "<line x1=\"{MARGIN}\" y1=\"{at:.1}\" x2=\"{end}\" y2=\"{at:.1}\" stroke=\"#eee\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}%</text>",
            MARGIN - 6.0,
            at + 4.0,
            share * 100.0
        );
    }
    for (number, (name, samples)) in lines.iter().enumerate() {
        let color = COLORS[number % COLORS.len()];
        let mut sorted: Vec<f64> = samples.iter().copied().filter(|one| one.is_finite()).collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let points = sorted
            .iter()
            .enumerate()
            .map(|(at, one)| format!("{:.1},{:.1}", x(*one), y((at + 1) as f64 / sorted.len() as f64)));
        let points: Vec<String> = thinned(points.collect());
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" points=\"{}\"/>\
             <text x=\"{:.1}\" y=\"{:.1}\" fill=\"{color}\">{} ({})</text>",
            points.join(" "),
            MARGIN + 8.0,
            y(1.0) + 16.0 + 16.0 * number as f64,
            escaped(name),
            sorted.len()
        );
    }
    svg.push_str("</svg>\n");
    svg
}

/// Thins points beyond visible resolution.
fn thinned(points: Vec<String>) -> Vec<String> {
    let step = points.len().div_ceil(1000).max(1);
    let last = points.len().saturating_sub(1);
    points
        .into_iter()
        .enumerate()
        .filter(|(at, _)| at % step == 0 || *at == last)
        .map(|(_, one)| one)
        .collect()
}

fn time(seconds: f64) -> String {
    if seconds < 0.9e-3 {
        format!("{:.0} µs", seconds * 1e6)
    } else if seconds < 0.9 {
        format!("{:.0} ms", seconds * 1e3)
    } else {
        format!("{seconds:.0} s")
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_covers_the_whole_distribution() {
        let svg = plot("a < b", &[("na".into(), vec![0.01, 0.1, 1.0]), ("none".into(), vec![])]);
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && svg.contains("a &lt; b"));
        // A third, two thirds, and all; from 10 ms to 1 s.
        assert!(svg.contains("points=\"56.0,194.7 380.0,125.3 704.0,56.0\""), "{svg}");
        for label in ["10 ms", "100 ms", "1 s", "na (3)", "none (0)", "99%"] {
            assert!(svg.contains(label), "{label}");
        }
    }

    #[test]
    fn degenerate_samples_do_not_break_the_plot() {
        for samples in [vec![], vec![f64::NAN], vec![-1.0, 0.0], vec![f64::MAX], vec![1.0; 5000]] {
            let svg = plot("x", &[("x".into(), samples)]);
            assert!(!svg.contains("NaN") && !svg.contains("inf") && svg.len() < 40_000);
        }
    }
}
