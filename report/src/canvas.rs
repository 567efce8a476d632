//! The parts that plots share: size, colours, text and legend.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Most lines of a plot, one for each colour.
pub const MAX_LINES: usize = 6;

/// A plot could not be drawn.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the plot {title:?} cannot be drawn: {reason}; report it with its data")]
pub struct PlotError {
    /// Title of the plot.
    pub title: String,
    /// Text of the drawing library.
    pub reason: String,
}

/// The picture that is drawn to.
pub(crate) type Canvas<'a> = DrawingArea<SVGBackend<'a>, Shift>;
/// The result of drawing.
pub(crate) type Drawn<T = ()> = Result<T, DrawingAreaErrorKind<std::io::Error>>;

/// Distinguishable with all common kinds of colour vision (Okabe and Ito).
pub(crate) const COLORS: [RGBColor; MAX_LINES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
pub(crate) const GRID: RGBColor = RGBColor(221, 221, 221);
/// Above the width of an average letter in the font of labels, as a viewer renders it.
pub(crate) const LETTER: i32 = 8;
pub(crate) const TITLE_SIZE: i32 = 18;
pub(crate) const LABEL_SIZE: i32 = 14;
/// Height of the title.
pub(crate) const TITLE_HEIGHT: i32 = 34;
/// Height of a line of the legend.
pub(crate) const LINE_HEIGHT: i32 = 20;

/// Draws a picture and returns it as SVG.
pub(crate) fn draw(
    title: &str,
    (width, height): (i32, i32),
    draw: impl FnOnce(&Canvas<'_>) -> Drawn,
) -> Result<String, PlotError> {
    let mut svg = String::new();
    let size = (width.unsigned_abs(), height.unsigned_abs());
    let drawn = {
        let canvas = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        canvas
            .fill(&WHITE)
            .and_then(|()| text(&canvas, title, (16, 10), TITLE_SIZE, HPos::Left, &BLACK))
            .and_then(|()| draw(&canvas))
            .and_then(|()| canvas.present())
    };
    drawn.map_err(|error| PlotError { title: title.into(), reason: error.to_string() })?;
    Ok(svg)
}

/// Draws a text with its upper corner at a point.
pub(crate) fn text(
    canvas: &Canvas<'_>,
    text: &str,
    at: (i32, i32),
    size: i32,
    side: HPos,
    color: &RGBColor,
) -> Drawn {
    let style = ("sans-serif", size).into_font().color(color).pos(Pos::new(side, VPos::Top));
    canvas.draw(&Text::new(text.to_owned(), at, style))
}

/// Draws the legend below the title: names in their colours, in as many lines as they need.
pub(crate) fn legend(canvas: &Canvas<'_>, names: &[String], width: i32) -> Drawn {
    let placed = names.iter().zip(legend_places(names, width)).zip(COLORS.iter().chain([&BLACK]));
    for ((name, (x, y)), color) in placed {
        let middle = y + LABEL_SIZE / 2;
        let line = vec![(x, middle), (x + 18, middle)];
        canvas.draw(&PathElement::new(line, color.stroke_width(3)))?;
        text(canvas, name, (x + 24, y), LABEL_SIZE, HPos::Left, color)?;
    }
    Ok(())
}

/// Returns the upper left corner of each name.
fn legend_places(names: &[String], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (16, TITLE_HEIGHT);
    let mut places = Vec::new();
    for name in names {
        let wide = 24 + text_width(name) + 16;
        if x > 16 && x + wide > width {
            (x, y) = (16, y + LINE_HEIGHT);
        }
        places.push((x, y));
        x += wide;
    }
    places
}

/// Returns the height of the title and the legend.
pub(crate) fn head_height(names: &[String], width: i32) -> i32 {
    let lowest = legend_places(names, width).last().map_or(TITLE_HEIGHT, |(_, y)| y + LINE_HEIGHT);
    lowest + 8
}

/// Returns an upper bound of the width of a label.
pub(crate) fn text_width(text: &str) -> i32 {
    i32::try_from(text.chars().count()).unwrap_or(i32::MAX / LETTER) * LETTER
}

/// Shortens a name that would not fit.
pub(crate) fn shortened(name: &str, most: usize) -> String {
    if name.chars().count() <= most {
        return name.to_owned();
    }
    name.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    /// A label of a picture, with its estimated box.
    #[derive(Clone, Debug, PartialEq)]
    pub(crate) struct Label {
        pub(crate) text: String,
        pub(crate) left: f64,
        pub(crate) right: f64,
        pub(crate) top: f64,
        pub(crate) bottom: f64,
    }

    impl Label {
        /// The middle of the label.
        pub(crate) fn middle(&self) -> (f64, f64) {
            (f64::midpoint(self.left, self.right), f64::midpoint(self.top, self.bottom))
        }
    }

    pub(crate) fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
        element.split_once(&format!(" {name}=\""))?.1.split_once('"').map(|(value, _)| value)
    }

    /// Returns all labels of a picture.
    pub(crate) fn labels(svg: &str) -> Vec<Label> {
        let number = |element: &str, name: &str| attribute(element, name).unwrap().parse::<f64>().unwrap();
        svg.split("<text")
            .skip(1)
            .map(|element| {
                let (head, rest) = element.split_once('>').unwrap();
                let text = rest.split_once("</text>").unwrap().0.trim().to_owned();
                let (x, y, size) = (number(head, "x"), number(head, "y"), number(head, "font-size"));
                // Wider than the letters of any common sans-serif font are on average.
                let escapes = ["&lt;", "&gt;", "&amp;", "&quot;", "&apos;"];
                let letters =
                    escapes.iter().fold(text.clone(), |text, one| text.replace(one, "_")).chars().count();
                let width = 0.6 * size * letters as f64;
                let left = match attribute(head, "text-anchor").unwrap() {
                    "start" => x,
                    "middle" => x - width / 2.0,
                    "end" => x - width,
                    other => panic!("{other}"),
                };
                let below: f64 =
                    attribute(head, "dy").unwrap().trim_end_matches("em").parse().unwrap_or_default();
                let base = y + below * size;
                let baseline = Label {
                    text,
                    left,
                    right: left + width,
                    top: base - 0.75 * size,
                    bottom: base + 0.22 * size,
                };
                if attribute(head, "transform").is_none() {
                    return baseline;
                }
                // Turned by a quarter about its anchor.
                Label {
                    left: x - size,
                    right: x + size,
                    top: y - width / 2.0,
                    bottom: y + width / 2.0,
                    ..baseline
                }
            })
            .collect()
    }

    /// Fails if labels overlap or leave the picture.
    pub(crate) fn assert_readable(svg: &str) {
        let size = |name: &str| attribute(svg, name).unwrap().parse::<f64>().unwrap();
        let (width, height) = (size("width"), size("height"));
        let labels = labels(svg);
        for (at, one) in labels.iter().enumerate() {
            assert!(
                one.left >= 0.0 && one.right <= width && one.top >= 0.0 && one.bottom <= height,
                "{one:?} leaves {width} x {height}"
            );
            for other in &labels[at + 1..] {
                let apart = one.right <= other.left
                    || other.right <= one.left
                    || one.bottom <= other.top
                    || other.bottom <= one.top;
                assert!(apart, "{one:?} overlaps {other:?}");
            }
        }
    }
}
