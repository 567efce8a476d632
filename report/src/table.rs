//! Text tables.

/// Formats a table with columns as wide as their widest cell.
#[must_use]
pub fn text_table<const N: usize>(titles: &[&str; N], rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = std::iter::once(titles.map(str::to_owned)).chain(rows).collect();
    let mut widths = [0; N];
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.chars().count().max(*width);
        }
    }
    let line = |row: &[String; N]| {
        let cells: Vec<String> =
            row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", cells.join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_fit_their_widest_cell() {
        let rows = [["a".to_owned(), "bbµ".to_owned()], ["ccccc".to_owned(), String::new()]];
        assert_eq!(text_table(&["X", "YY"], rows), "X      YY\na      bbµ\nccccc\n");
    }
}
