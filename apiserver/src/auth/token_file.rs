//! The token file, in the format of kube-apiserver's `--token-auth-file`:
//! `token,user,uid,"group1,group2"`, the groups optional.

mod csv;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use machinery_sync::Swap;

use super::identity::Identity;
use super::private::{self, FileError};
use super::token::{TokenTable, token_of};

/// The tokens of a file, which can be reloaded.
#[derive(Debug)]
pub(crate) struct TokenFile {
    path: PathBuf,
    tokens: Swap<TokenTable>,
}

impl TokenFile {
    /// Reads the file.
    pub(crate) fn open(path: &Path) -> Result<Self, FileError> {
        let tokens = tokens(path)?;
        Ok(Self { path: path.into(), tokens: Swap::new(Arc::new(tokens)) })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file again. On error the previous tokens are kept.
    pub(crate) fn reload(&self) -> Result<(), FileError> {
        self.tokens.swap(Arc::new(tokens(&self.path)?));
        Ok(())
    }

    /// The tokens as of the last successful read.
    pub(crate) fn tokens(&self) -> Arc<TokenTable> {
        self.tokens.load()
    }
}

/// Checks that the file is usable or does not exist yet. Changes nothing.
pub(crate) fn check(path: &Path) -> Result<(), FileError> {
    if private::read(path)?.is_none() {
        return Ok(());
    }
    private::check_mode(path)?;
    tokens(path).map(|_| ())
}

/// Returns the token of `identity`. If the file has none, generates one from `random` and adds it,
/// creating the file if necessary.
///
/// Fails if users other than the owner can access the file.
pub(crate) fn ensure(path: &Path, identity: &Identity, random: [u8; 32]) -> Result<String, FileError> {
    let there = private::read(path)?;
    if there.is_some() {
        private::check_mode(path)?;
    }
    let mut text = there.unwrap_or_default();
    let entries = entries(&text).map_err(|error| of(path, &error))?;
    if let Some(entry) = entries.iter().find(|entry| entry.identity.user == identity.user) {
        return Ok(entry.token.clone());
    }
    let token = token_of(random);
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    let groups = identity.groups.join(",");
    text.push_str(&csv::line(&[&token, &identity.user, &identity.uid, &groups]));
    private::write(path, &text)?;
    Ok(token)
}

/// Parses the text of a token file.
pub(crate) fn parse(text: &str) -> Result<TokenTable, LineError> {
    let mut tokens = TokenTable::default();
    for Entry { line, token, identity } in entries(text)? {
        if !tokens.add(&token, identity) {
            return Err(LineError { line, what: "this token is in the file already" });
        }
    }
    Ok(tokens)
}

/// An error in the file. It quotes nothing of the text, which is secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub(crate) struct LineError {
    pub(crate) line: usize,
    pub(crate) what: &'static str,
}

struct Entry {
    line: usize,
    token: String,
    identity: Identity,
}

fn tokens(path: &Path) -> Result<TokenTable, FileError> {
    let text = private::read(path)?
        .ok_or_else(|| FileError::new(path, "there is no such file", "check the path"))?;
    parse(&text).map_err(|error| of(path, &error))
}

fn of(path: &Path, error: &LineError) -> FileError {
    FileError::new(path, error, "a line is: token,user,uid,\"group1,group2\"")
}

/// Kubernetes skips lines without a token and accepts users without a name. Both are mistakes, so
/// they are rejected here.
fn entries(text: &str) -> Result<Vec<Entry>, LineError> {
    let mut entries = Vec::new();
    for record in csv::records(text)? {
        let line = record.line;
        let wrong = |what| Err(LineError { line, what });
        let [token, user, uid, rest @ ..] = record.fields.as_slice() else {
            return wrong("it has less than three columns");
        };
        if token.is_empty() || token.contains(|c: char| !c.is_ascii_graphic()) {
            return wrong("the token is empty, or holds characters that a header cannot hold");
        }
        if user.is_empty() {
            return wrong("the user has no name");
        }
        let mut identity = Identity::new(user).with_uid(uid);
        for group in rest.first().into_iter().flat_map(|groups| groups.split(',')).filter(|it| !it.is_empty())
        {
            identity = identity.in_group(group);
        }
        entries.push(Entry { line, token: token.clone(), identity });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests;
