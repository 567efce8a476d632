//! Splits a source file into prose, documented modules, declared types and test functions. Pure.

/// One file of the workspace.
#[derive(Debug, Default)]
pub(crate) struct Text {
    /// Documentation without code: fenced blocks and inline code are removed.
    pub(crate) prose: Vec<Line>,
    /// The first line of the module's documentation, for a Rust file that has one.
    pub(crate) module: Option<Line>,
    /// Doc-comment lines over [`MAX_COLUMNS`]. Table rows are exempt, because they cannot be
    /// wrapped.
    pub(crate) long: Vec<Line>,
    /// Declared types, private ones and those of tests included.
    pub(crate) types: Vec<Line>,
    /// Declared functions.
    pub(crate) functions: Vec<Line>,
    /// Functions with a `#[test]` attribute of any runtime.
    pub(crate) tests: Vec<Line>,
}

/// A line number, from 1, and its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) number: usize,
    pub(crate) text: String,
}

/// The widest doc-comment line, its indentation and `///` included.
const MAX_COLUMNS: usize = 100;

/// Reads a Markdown file.
pub(crate) fn of_markdown(source: &str) -> Text {
    let mut text = Text::default();
    let mut fences = Fences::default();
    for (number, line) in numbered(source) {
        if fences.is_prose(line) {
            text.prose.push(Line { number, text: without_code(line) });
        }
    }
    text
}

/// Reads a Rust file.
pub(crate) fn of_rust(source: &str) -> Text {
    let mut text = Text::default();
    let mut fences = Fences::default();
    let mut is_test = false;
    for (number, line) in numbered(source) {
        let at = |text: &str| Line { number, text: text.to_owned() };
        let code = line.trim_start();
        let inner = code.strip_prefix("//!");
        if let Some(doc) = inner.or_else(|| code.strip_prefix("///")) {
            let doc = doc.strip_prefix(' ').unwrap_or(doc);
            if line.chars().count() > MAX_COLUMNS && !doc.starts_with('|') {
                text.long.push(at(code));
            }
            if inner.is_some() && text.module.is_none() {
                text.module = Some(at(doc));
            }
            if fences.is_prose(doc) {
                text.prose.push(at(&without_code(doc)));
            }
            continue;
        }
        fences = Fences::default();
        if code.starts_with("#[") {
            is_test |= is_test_attribute(code);
        } else if !code.starts_with("//") {
            text.types.extend(declared_type(line).map(at));
            if let Some(name) = declared_function(code) {
                text.functions.push(at(name));
                if is_test {
                    text.tests.push(at(name));
                }
            }
            is_test = false;
        }
    }
    text
}

/// Returns the words of a text in lower case, split at anything but letters, digits and
/// apostrophes.
pub(crate) fn words(text: &str) -> Vec<String> {
    let pieces = text.split(|c: char| !c.is_alphanumeric() && c != '\'');
    pieces.filter(|word| word.contains(char::is_alphabetic)).map(str::to_lowercase).collect()
}

/// Returns the pieces of a line between backticks.
pub(crate) fn inline_code(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// Tracks whether a documentation line is outside of a fenced block.
#[derive(Default)]
struct Fences {
    is_open: bool,
}

impl Fences {
    fn is_prose(&mut self, line: &str) -> bool {
        if line.trim_start().starts_with("```") {
            self.is_open = !self.is_open;
            return false;
        }
        !self.is_open
    }
}

fn numbered(source: &str) -> impl Iterator<Item = (usize, &str)> {
    source.lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

/// Returns whether a line is a test attribute: `#[test]`, `#[tokio::test]`,
/// `#[tokio::test(start_paused = true)]`.
fn is_test_attribute(code: &str) -> bool {
    let path = code.trim_start_matches("#[");
    let path =
        &path[..path.find(|c: char| !c.is_alphanumeric() && c != '_' && c != ':').unwrap_or(path.len())];
    path.rsplit("::").next() == Some("test")
}

/// Returns the name of a struct, enum, union, trait or alias. Associated types are indented, and
/// are none.
fn declared_type(line: &str) -> Option<&str> {
    let code = without_visibility(line.trim_start());
    let code = code.strip_prefix("unsafe ").unwrap_or(code);
    let (keyword, rest) = code.split_once(' ')?;
    let declares = match keyword {
        "struct" | "enum" | "union" | "trait" => true,
        "type" => !line.starts_with(' '),
        _ => false,
    };
    let name = identifier(rest);
    (declares && name.starts_with(char::is_uppercase)).then_some(name)
}

fn declared_function(code: &str) -> Option<&str> {
    let mut code = without_visibility(code);
    for modifier in ["const ", "async ", "unsafe "] {
        code = code.strip_prefix(modifier).unwrap_or(code);
    }
    code.strip_prefix("fn ").map(identifier)
}

fn without_visibility(code: &str) -> &str {
    let Some(rest) = code.strip_prefix("pub") else { return code };
    let rest = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or(rest, |(_, rest)| rest);
    rest.trim_start()
}

fn identifier(code: &str) -> &str {
    &code[..code.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(code.len())]
}
