//! Comma-separated values by RFC 4180, as Go's `encoding/csv` parses them.

use super::LineError;

/// The fields of one record.
pub(super) struct CsvRecord {
    /// The line on which the record begins, counted from 1.
    pub(super) line: usize,
    pub(super) fields: Vec<String>,
}

/// Parses all records; empty lines are skipped.
pub(super) fn records(text: &str) -> Result<Vec<CsvRecord>, LineError> {
    let mut reader = CsvReader { rest: text, line: 1 };
    let mut records = Vec::new();
    while !reader.rest.is_empty() {
        if reader.line_end() {
            continue;
        }
        records.push(reader.record()?);
    }
    Ok(records)
}

/// Formats one record, with its newline.
pub(super) fn line(fields: &[&str]) -> String {
    let quoted = |field: &&str| match field.contains([',', '"', '\r', '\n', ' ']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => (*field).to_owned(),
    };
    let fields: Vec<_> = fields.iter().map(quoted).collect();
    fields.join(",") + "\n"
}

struct CsvReader<'a> {
    rest: &'a str,
    line: usize,
}

impl CsvReader<'_> {
    fn record(&mut self) -> Result<CsvRecord, LineError> {
        let line = self.line;
        let mut fields = Vec::new();
        loop {
            fields.push(if self.take("\"") { self.quoted()? } else { self.bare()? });
            if !self.take(",") {
                break;
            }
        }
        if self.rest.is_empty() || self.line_end() {
            return Ok(CsvRecord { line, fields });
        }
        Err(LineError {
            line: self.line,
            what: "there is something between a closing quote and the next comma",
        })
    }

    fn bare(&mut self) -> Result<String, LineError> {
        let end = self.rest.find([',', '\n']).unwrap_or(self.rest.len());
        let (field, rest) = self.rest.split_at(end);
        // `\r\n` ends a line as well.
        let carriage = field.ends_with('\r') && (rest.is_empty() || rest.starts_with('\n'));
        let field = if carriage { &field[..field.len() - 1] } else { field };
        if field.contains('"') {
            return Err(LineError {
                line: self.line,
                what: "there is a quote inside a value without quotes",
            });
        }
        self.rest = rest;
        Ok(field.to_owned())
    }

    /// Parses from after the opening quote to the closing one.
    fn quoted(&mut self) -> Result<String, LineError> {
        let begun = self.line;
        let mut field = String::new();
        loop {
            let Some((part, rest)) = self.rest.split_once('"') else {
                return Err(LineError { line: begun, what: "a quote is not closed" });
            };
            self.line += part.matches('\n').count();
            field.push_str(part);
            self.rest = rest;
            if !self.take("\"") {
                return Ok(field);
            }
            field.push('"');
        }
    }

    fn line_end(&mut self) -> bool {
        let is = self.take("\n") || self.take("\r\n");
        if is {
            self.line += 1;
        }
        is
    }

    fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }
}
