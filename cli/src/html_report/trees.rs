//! The page of `simulate --tree --html`: tables with bars, without a script.

use std::fs;
use std::path::Path;

use dedupstore::lab::{LevelSummary, TreeSummary};

use super::STYLE;
use crate::command::simulate_tree::{LEVEL_HEADER, TREE_HEADER, facts, level_cells, tree_cells};
use crate::error::Failure;
use crate::value_parsers;

/// The page, with placeholders for the style and the content.
const TEMPLATE: &str = include_str!("trees.html");

/// Writes the page.
pub fn write(path: &Path, stream: &str, summaries: &[TreeSummary]) -> Result<(), Failure> {
    fs::write(path, page(stream, summaries)).map_err(|error| Failure::Create {
        path: path.to_owned(),
        error,
    })
}

fn page(stream: &str, summaries: &[TreeSummary]) -> String {
    let mut content = format!("<h1>{}</h1>\n", escaped(stream));
    if let Some(first) = summaries.first() {
        content += &format!("<p>{}</p>\n", facts(first));
    }
    content += "<p>A message is remote if it goes further than to the producer's own leaf.</p>\n";
    let rows = summaries.iter().map(|it| (tree_cells(it), String::new()));
    content += &table(&TREE_HEADER, "", rows);
    for summary in summaries {
        let memory = value_parsers::show_bits(summary.memory_bits);
        content += &format!("<h2>{}, {memory} per node</h2>\n", escaped(&summary.tree));
        content += "<p>Level 0 is the root. Blue: accesses; orange: hits.</p>\n";
        let most = summary.levels.iter().map(|it| it.accesses).max();
        let rows = summary.levels.iter();
        let rows = rows.map(|it| (level_cells(it), bars(it, most.unwrap_or(0))));
        content += &table(&LEVEL_HEADER, "accesses and hits", rows);
    }
    // The content comes last: it may contain anything, also a placeholder.
    TEMPLATE
        .replacen("/*style*/", STYLE, 1)
        .replacen("<!--content-->", &content, 1)
}

/// Returns a table; the last column holds markup if it has a name.
fn table(
    header: &[&str],
    markup: &str,
    rows: impl Iterator<Item = (Vec<String>, String)>,
) -> String {
    let is_marked = !markup.is_empty();
    let mut text = "<div class=\"scroll\" tabindex=\"0\"><table>\n<tr>".to_owned();
    for name in header {
        text += &format!("<th scope=\"col\">{name}</th>");
    }
    if is_marked {
        text += &format!("<th scope=\"col\" class=\"bars\">{markup}</th>");
    }
    text += "</tr>\n";
    for (cells, markup) in rows {
        text += "<tr>";
        for cell in &cells {
            text += &format!("<td>{}</td>", escaped(cell));
        }
        if is_marked {
            text += &format!("<td class=\"bars\">{markup}</td>");
        }
        text += "</tr>\n";
    }
    text + "</table></div>\n"
}

/// Draws the accesses and the hits of a level as bars.
fn bars(level: &LevelSummary, most: u64) -> String {
    let width = |part: u64| 100.0 * part as f64 / most.max(1) as f64;
    let bar = |class: &str, part: u64| {
        let width = width(part);
        format!("<div><span class=\"{class}\" style=\"width: {width:.2}%\"></span></div>")
    };
    bar("bar", level.accesses) + &bar("bar hits", level.hits)
}

pub(super) fn escaped(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use dedupstore::lab::{TreeSimulation, Truth};

    use super::*;

    #[test]
    fn the_page_shows_every_level_and_loads_nothing() {
        let mut simulation = TreeSimulation::new(1, Truth::for_fingerprints());
        let tree = "dense:levels=3,fanout=2".parse().expect("a tree");
        simulation.add_tree(&tree, 4096).expect("small");
        for i in 0..3000u32 {
            simulation.push_key(&(i % 1000).to_le_bytes(), None);
        }
        let name = "</h1><script>alert(1)<!--content-->";
        let page = page(name, &simulation.summaries(name));
        assert!(!page.contains("<script") && !page.contains("/*style*/"));
        assert_eq!(page.matches("<tr>").count(), 2 + 4);
        assert!(page.contains("3,000 keys, 1,000 distinct, 2,000 repeats"));
        for word in ["http://", "https://", "src=", "href=", "url(", "@import"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
