//! `docs/PAPERS.md` has the statements of `reproduce --html`. Run with `UPDATE_DOCUMENTS=1` to write
//! it after a statement has changed.

use std::fmt::Write;
use std::fs;

use dedupstore::lab::reproduce::{Finding, OMISSIONS, PAPERS, STATEMENTS};
use dedupstore_tests::root;

const INTRODUCTION: &str = "\
# What the papers claim, and what holds

Five papers propose the filters that this project began with. Each claim below was checked with a \
command that anyone can run; [reproduce.md](reproduce.md) has every cell of every table and figure, \
and `dedupstore reproduce --html papers.html` writes all of it as one page. A claim that does not hold \
has a test that would fail if it did.

None of this is written to belittle the authors. Most of their numbers are reproduced to the second \
digit, ten to twenty years later, from the text alone. Where a number is wrong, the \
reason is nearly always a misprint, a random generator, or keys that were easier than real ones.
";

/// Returns the document.
fn rendered() -> String {
    let mut text = INTRODUCTION.to_owned();
    let count = |finding| STATEMENTS.iter().filter(|it| it.finding == finding).count();
    writeln!(
        text,
        "\nOf {} claims, {} hold, {} hold in part, {} do not hold, and {} could not be decided.",
        STATEMENTS.len(),
        count(Finding::Holds),
        count(Finding::Partly),
        count(Finding::Wrong),
        count(Finding::Open)
    )
    .expect("a string");
    for paper in PAPERS {
        let source = &paper.source;
        let (authors, title, year) = (source.authors, source.title, source.year);
        writeln!(text, "\n## {}: {authors}, {year}\n\n*{title}*\n", paper.id).expect("a string");
        for statement in STATEMENTS.iter().filter(|it| it.paper == paper.id) {
            let finding = statement.finding.name();
            let (claim, answer, command) = (statement.claim, statement.answer, statement.command);
            write!(text, "- {claim} **{finding}**: {answer}\n  `{command}`").expect("a string");
            match statement.test {
                Some(test) => writeln!(text, " (test `{test}`)").expect("a string"),
                None => text.push('\n'),
            }
        }
        for omission in OMISSIONS.iter().filter(|it| it.paper == paper.id) {
            writeln!(
                text,
                "- Not reproduced: {} {}.",
                omission.what, omission.why
            )
            .expect("a string");
        }
    }
    text
}

#[test]
fn the_document_has_every_statement() {
    let path = root().join("docs/PAPERS.md");
    let expected = rendered();
    if std::env::var_os("UPDATE_DOCUMENTS").is_some() {
        fs::write(&path, &expected).expect("writable");
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/PAPERS.md is out of date; run this test with UPDATE_DOCUMENTS=1"
    );
}
