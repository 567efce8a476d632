//! Runs the fuzz target on its corpus.

use std::path::Path;

use machinery_cel::testing;

#[test]
fn p01_the_corpus_holds() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus/expressions");
    let files: Vec<_> = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(!files.is_empty());
    for file in files {
        println!("{}", file.display()); // shown if the next line panics
        testing::expressions(&std::fs::read(&file).unwrap());
    }
}
