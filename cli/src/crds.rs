//! Reads CustomResourceDefinitions from files, for `machinery serve --crds`.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use serde_json::Value;

/// Reads the definitions of a file, or of the YAML and JSON files of a directory.
pub(crate) fn read(path: &Path) -> anyhow::Result<Vec<Value>> {
    let mut definitions = Vec::new();
    for file in files(path)? {
        let text = fs::read_to_string(&file)
            .with_context(|| format!("cannot read {}; check the path", file.display()))?;
        for document in documents(&text)
            .with_context(|| format!("{} does not parse as YAML or JSON; fix it", file.display()))?
        {
            if document.is_null() {
                continue;
            }
            if document["kind"] != "CustomResourceDefinition" {
                bail!(
                    "{} holds a {}; leave only CustomResourceDefinitions there",
                    file.display(),
                    document["kind"]
                );
            }
            definitions.push(document);
        }
    }
    Ok(definitions)
}

fn files(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries =
        fs::read_dir(path).with_context(|| format!("cannot read {}; check the path", path.display()))?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}; check the path", path.display()))?.path();
        if path.extension().is_some_and(|ending| ["yaml", "yml", "json"].iter().any(|known| ending == *known))
        {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

fn documents(text: &str) -> anyhow::Result<Vec<Value>> {
    Ok(serde_saphyr::from_multiple(text)?)
}
