//! Text tables.

/// Formats a table with columns as wide as their widest cell.
pub(super) fn table<const N: usize>(titles: &[&str; N], rows: impl Iterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = std::iter::once(titles.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
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
        let rows = [["a".to_owned(), "bbb".to_owned()], ["ccccc".to_owned(), String::new()]];
        assert_eq!(table(&["X", "YY"], rows.into_iter()), "X      YY\na      bbb\nccccc\n");
    }
}
