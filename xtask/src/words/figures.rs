//! Counts the words of the private dialect, per crate, and keeps each finding with its file and
//! line.

use std::collections::BTreeMap;

use super::text::{self, Line, Text};

/// Counted figures of one crate, or of the documentation outside of crates.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    words: usize,
    modules: usize,
    counts: [usize; Rule::ALL.len()],
    /// Every line that was counted.
    pub(crate) findings: Vec<Finding>,
    types: BTreeMap<String, Vec<(String, usize)>>,
}

/// One counted line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) rule: Rule,
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// One figure with a ceiling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Rule {
    What,
    Who,
    Told,
    Anew,
    SoMany,
    QuestionModules,
    LongLines,
    TypesTwice,
    QuestionTests,
}

impl Rule {
    pub(crate) const ALL: [Self; 9] = [
        Self::What,
        Self::Who,
        Self::Told,
        Self::Anew,
        Self::SoMany,
        Self::QuestionModules,
        Self::LongLines,
        Self::TypesTwice,
        Self::QuestionTests,
    ];

    /// Returns the figure's name and unit, as the stage prints it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::What => "`what` per 1 000 words",
            Self::Who => "`who`, `whoever`, `whose` per 1 000 words",
            Self::Told => "`told`, `heard`, `said`, `asked` per 1 000 words",
            Self::Anew => "`anew` per 1 000 words",
            Self::SoMany => "`so many`, `so long` per 1 000 words",
            Self::QuestionModules => "per cent of module docs that begin with a question word",
            Self::LongLines => "doc-comment lines over 100 columns",
            Self::TypesTwice => "type names used twice",
            Self::QuestionTests => "test names that begin with a question word",
        }
    }

    /// Returns the goal: the ceiling of a crate that is not in the table.
    pub(crate) fn goal(self) -> f64 {
        match self {
            Self::What => 2.0,
            Self::Who | Self::QuestionModules => 1.0,
            Self::Told => 0.7,
            Self::Anew | Self::SoMany => 0.1,
            Self::LongLines | Self::TypesTwice | Self::QuestionTests => 0.0,
        }
    }

    fn is_word(self, word: &str, next: Option<&str>) -> bool {
        match self {
            Self::What => word == "what",
            Self::Who => matches!(word, "who" | "whoever" | "whose"),
            Self::Told => matches!(word, "told" | "heard" | "said" | "asked"),
            Self::Anew => word == "anew",
            Self::SoMany => word == "so" && matches!(next, Some("many" | "long")),
            _ => false,
        }
    }
}

/// Names that several modules of a crate may declare: their module gives them their meaning.
const SHARED_NAMES: [&str; 5] = ["Error", "State", "Config", "Inner", "Settings"];

/// Types with one name and two bodies, chosen by a private cfg: crate and name.
const TWO_BODIES: [(&str, &str); 1] = [("sync", "Swap")];

impl Figures {
    /// Adds a file. `file` is its path from the root of the workspace.
    pub(crate) fn add(&mut self, file: &str, text: &Text) {
        for line in &text.prose {
            self.count_words(file, line);
        }
        if let Some(module) = &text.module {
            self.modules += 1;
            if text::words(&module.text).first().is_some_and(|word| is_question(word)) {
                self.find(Rule::QuestionModules, file, module);
            }
        }
        text.long.iter().for_each(|line| self.find(Rule::LongLines, file, line));
        for test in text.tests.iter().filter(|test| begins_with_question(&test.text)) {
            self.find(Rule::QuestionTests, file, test);
        }
        for line in &text.types {
            self.types.entry(line.text.clone()).or_default().push((file.to_owned(), line.number));
        }
    }

    /// Counts type names used twice. To be called once, after the last file.
    pub(crate) fn finish(&mut self, name: &str) {
        let allowed = |it: &str| SHARED_NAMES.contains(&it) || TWO_BODIES.contains(&(name, it));
        for (it, places) in std::mem::take(&mut self.types) {
            if places.len() < 2 || allowed(&it) {
                continue;
            }
            let (file, number) = &places[0];
            let others: Vec<_> = places[1..].iter().map(|(file, line)| format!("{file}:{line}")).collect();
            let text = format!("{it} is also in {}", others.join(", "));
            self.find(Rule::TypesTwice, file, &Line { number: *number, text });
        }
    }

    /// Returns the figure that a ceiling limits, rounded to a hundredth.
    pub(crate) fn value(&self, rule: Rule) -> f64 {
        let count = self.counts[rule as usize] as f64;
        let value = match rule {
            Rule::What | Rule::Who | Rule::Told | Rule::Anew | Rule::SoMany => {
                1000.0 * count / self.words.max(1) as f64
            }
            Rule::QuestionModules => 100.0 * count / self.modules.max(1) as f64,
            Rule::LongLines | Rule::TypesTwice | Rule::QuestionTests => count,
        };
        (100.0 * value).round() / 100.0
    }

    /// Returns the figures of several crates together.
    pub(crate) fn sum<'a>(all: impl Iterator<Item = &'a Self>) -> Self {
        let mut sum = Self::default();
        for one in all {
            sum.words += one.words;
            sum.modules += one.modules;
            sum.counts.iter_mut().zip(one.counts).for_each(|(sum, count)| *sum += count);
        }
        sum
    }

    fn count_words(&mut self, file: &str, line: &Line) {
        let words = text::words(&line.text);
        self.words += words.len();
        for (index, word) in words.iter().enumerate() {
            let next = words.get(index + 1).map(String::as_str);
            for rule in Rule::ALL.into_iter().filter(|rule| rule.is_word(word, next)) {
                self.find(rule, file, line);
            }
        }
    }

    fn find(&mut self, rule: Rule, file: &str, line: &Line) {
        self.counts[rule as usize] += 1;
        let text = line.text.trim().to_owned();
        self.findings.push(Finding { rule, file: file.to_owned(), line: line.number, text });
    }
}

fn is_question(word: &str) -> bool {
    matches!(word, "what" | "who" | "whoever" | "whose" | "whom" | "where" | "how" | "which" | "when" | "why")
}

fn begins_with_question(test: &str) -> bool {
    ["what_", "who_", "whoever_", "where_", "how_", "which_"].iter().any(|start| test.starts_with(start))
}
