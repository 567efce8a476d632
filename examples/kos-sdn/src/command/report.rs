//! `kos report`: the latencies of a run, as tables and plots.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use machinery::report::{distribution_plot, figure, text_table};
use serde_json::Value;

use crate::load::{AttachmentRecord, LatencyRow, parse_latencies, read_records, record_rows};

/// Print the latencies of each step by cause, and write plots: report.html, and an SVG file per
/// step
#[derive(Debug, clap::Args)]
pub(super) struct ReportArguments {
    /// The directory of a run of `kos drive`
    run: PathBuf,
    /// A page of metrics of an agent or of the controllers: a file, or http://ADDRESS. May be
    /// repeated; all pages are summed
    #[arg(long, value_name = "FILE|URL")]
    metrics: Vec<String>,
}

pub(super) async fn run(arguments: ReportArguments) -> machinery::Result<ExitCode> {
    let (head, records) = read_records(&arguments.run)?;
    let mut pages = Vec::new();
    for source in &arguments.metrics {
        pages.push(super::page::read(source).await.map_err(|error| format!("{source}: {error}"))?);
    }
    let measured = record_rows(&records);
    let counted = parse_latencies(&pages.concat());
    println!("{}\n", summary_line(&head));
    print(&measured);
    if !counted.is_empty() {
        println!("\nfrom the histograms of components, interpolated:\n");
        print(&counted);
    }
    let plots = plots(&records)?;
    write(&arguments.run, &head, &[measured, counted], &plots)?;
    println!("\nplots: {}", arguments.run.join("report.html").display());
    Ok(ExitCode::SUCCESS)
}

/// Prints a table of percentiles.
pub(super) fn print(rows: &[LatencyRow]) {
    print!("{}", text_table(&TITLES, rows.iter().map(cells)));
}

const TITLES: [&str; 7] = ["STEP", "FROM", "COUNT", "P50 ms", "P90 ms", "P99 ms", "MAX ms"];

fn cells(row: &LatencyRow) -> [String; 7] {
    let [p50, p90, p99, most] = row.seconds.map(|seconds| format!("{:.3}", seconds * 1e3));
    [row.step.clone(), row.cause.clone(), row.count.to_string(), p50, p90, p99, most]
}

fn summary_line(head: &Value) -> String {
    let text = |field: &str| match &head[field] {
        Value::Number(number) if number.is_f64() => figure(number.as_f64().unwrap_or_default()),
        other => other.to_string().trim_matches('"').to_owned(),
    };
    format!(
        "run {}: {} attachments in {} networks, {} at a time, {} in each network on average, on {} nodes; {} operations a second by {}",
        text("id"),
        text("attachments"),
        text("nets"),
        text("slots"),
        text("averagePeers"),
        text("nodes"),
        text("rate"),
        text("threads")
    )
}

/// Returns a plot per step, with one line per cause.
fn plots(records: &[AttachmentRecord]) -> machinery::Result<Vec<(String, String)>> {
    let by_server = ["lock", "address", "implemented"].map(|step| {
        let samples = |cause: &str| {
            let of = records.iter().filter(|record| record.cause == cause);
            of.filter_map(|record| record.server.get(step).copied()).collect::<Vec<f64>>()
        };
        let lines = ["na", "subnet"].map(|cause| (format!("from {cause}"), samples(cause)));
        (step.to_owned(), format!("last client write to {step}, by the server's clock"), lines.to_vec())
    });
    let by_driver = ["create", "addressed", "ready", "delete", "gone"].map(|step| {
        let samples = |easy: bool| {
            let of = records.iter().filter(|record| record.easy == easy);
            of.filter_map(|record| record.client.get(step).copied()).collect::<Vec<f64>>()
        };
        let lines = vec![("easy".to_owned(), samples(true)), ("contended".to_owned(), samples(false))];
        (format!("seen-{step}"), format!("{step}, by the load generator's clock"), lines)
    });
    let tested = |with_frames: bool| {
        let tests = records.iter().filter_map(|record| record.tested.as_ref());
        tests
            .filter(|tested| tested.ok && tested.peer.is_some() == with_frames)
            .map(|tested| tested.seconds)
            .collect::<Vec<f64>>()
    };
    let tests = vec![("with frames".to_owned(), tested(true)), ("without frames".to_owned(), tested(false))];
    let tests = ("tested".to_owned(), "created to tested".to_owned(), tests);
    let all = by_server.into_iter().chain(by_driver).chain([tests]);
    let drawn = all.filter(|(.., lines)| lines.iter().any(|(_, samples)| !samples.is_empty()));
    drawn.map(|(file, title, lines)| Ok((file, distribution_plot(&title, &lines)?))).collect()
}

fn write(
    directory: &Path,
    head: &Value,
    tables: &[Vec<LatencyRow>],
    plots: &[(String, String)],
) -> std::io::Result<()> {
    let mut html = String::from(
        "<!doctype html><meta charset=\"utf-8\"><title>kos</title><style>body{font-family:sans-serif;max-width:60em;margin:2em auto}\
         td,th{padding:.2em .8em;text-align:right}td:first-child,td:nth-child(2){text-align:left}svg{width:100%}</style>",
    );
    let _ = write!(html, "<p>{}</p>", summary_line(head));
    for rows in tables.iter().filter(|rows| !rows.is_empty()) {
        let line = |cells: &[String; 7], tag: &str| {
            let cells: String = cells.iter().map(|cell| format!("<{tag}>{cell}</{tag}>")).collect();
            format!("<tr>{cells}</tr>")
        };
        let body: String = rows.iter().map(|row| line(&cells(row), "td")).collect();
        let _ = write!(html, "<table>{}{body}</table>", line(&TITLES.map(str::to_owned), "th"));
    }
    for (name, svg) in plots {
        fs::write(directory.join(format!("{name}.svg")), svg)?;
        html.push_str(svg);
    }
    fs::write(directory.join("report.html"), html)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The average was once printed as 52.729729729729726.
    #[test]
    fn summary_has_figures_of_three_digits() {
        let head = serde_json::json!({
            "id": "r", "attachments": 450, "nets": 10, "slots": 390, "averagePeers": 52.729_729_729_729_726, "nodes": 3,
            "rate": 10.0, "threads": 1,
        });
        assert_eq!(
            summary_line(&head),
            "run r: 450 attachments in 10 networks, 390 at a time, 52.7 in each network on average, on 3 nodes; 10.0 operations a second by 1"
        );
    }
}
