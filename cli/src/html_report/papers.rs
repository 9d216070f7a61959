//! The page of `reproduce --html`: every table with the paper's values beside ours, without a
//! script.

use std::fs;
use std::path::Path;

use dedupstore::lab::reproduce::{
    Agreement, Finding, Metric, OMISSIONS, PAPERS, Paper, Reproduced, STATEMENTS,
};

use super::STYLE;
use super::trees::escaped;
use crate::error::Failure;
use crate::table::significant;

/// The page, with placeholders for the style and the content.
const TEMPLATE: &str = include_str!("papers.html");

/// Writes the page.
pub fn write(path: &Path, scale: u64, cells: &[Reproduced]) -> Result<(), Failure> {
    fs::write(path, page(scale, cells)).map_err(|error| Failure::Create {
        path: path.to_owned(),
        error,
    })
}

fn page(scale: u64, cells: &[Reproduced]) -> String {
    let mut content = format!(
        "<h1>What the papers say, and what is measured</h1>\n<p>Printed by <code>dedupstore \
         reproduce --scale {scale}</code>. A pair is the published value → the measured one. FPR: \
         first occurrences reported Seen ÷ first occurrences. FNR: repeats reported New ÷ \
         repeats.</p>\n<p class=\"key\">Color: <span class=\"same\">within 3 % or 0.1 \
         points</span> <span class=\"near\">within 15 % or 2 points</span> <span \
         class=\"far\">further away</span></p>\n"
    );
    for paper in PAPERS {
        let of_paper: Vec<&Reproduced> = cells.iter().filter(|it| it.paper == paper.id).collect();
        if !of_paper.is_empty() {
            content += &section(paper, &of_paper);
        }
    }
    // The content comes last: it may contain anything, also a placeholder.
    TEMPLATE
        .replacen("/*style*/", STYLE, 1)
        .replacen("<!--content-->", &content, 1)
}

fn section(paper: &Paper, cells: &[&Reproduced]) -> String {
    let source = &paper.source;
    let mut text = format!(
        "<section id=\"paper-{}\">\n<h2>{}: {}, {}</h2>\n<p>{}</p>\n",
        paper.id,
        paper.id,
        escaped(source.authors),
        source.year,
        escaped(source.title)
    );
    text += "<h3>What it claims</h3>\n<ul class=\"statements\">\n";
    for statement in STATEMENTS.iter().filter(|it| it.paper == paper.id) {
        let class = match statement.finding {
            Finding::Holds => "holds",
            Finding::Partly => "partly",
            Finding::Wrong => "wrong",
            Finding::Open => "open",
        };
        text += &format!(
            "<li class=\"{class}\"><p>{} <strong>{}</strong>: {}</p><p><code>{}</code></p></li>\n",
            escaped(statement.claim),
            statement.finding.name(),
            escaped(statement.answer),
            escaped(statement.command)
        );
    }
    text += "</ul>\n";
    text += &dots(cells);
    text += "<h3>Tables and figures</h3>\n";
    for table in in_order(cells.iter().map(|cell| cell.table)) {
        let of_table: Vec<&Reproduced> = cells
            .iter()
            .filter(|cell| cell.table == table)
            .copied()
            .collect();
        text += &details(table, &of_table);
    }
    let omitted = OMISSIONS.iter().filter(|it| it.paper == paper.id);
    let omitted = omitted.map(|it| format!("<li>{} {}.</li>\n", escaped(it.what), escaped(it.why)));
    text += &format!(
        "<h3>Not reproduced</h3>\n<ul>\n{}</ul>\n</section>\n",
        omitted.collect::<String>()
    );
    text
}

/// Returns the different names, in the order of their first occurrence.
fn in_order<T: PartialEq>(names: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for name in names {
        if !found.contains(&name) {
            found.push(name);
        }
    }
    found
}

/// Returns a table of the paper, with its notes.
fn details(name: &str, cells: &[&Reproduced]) -> String {
    let columns = in_order(cells.iter().map(|cell| cell.column));
    let rows = in_order(cells.iter().map(|cell| (&cell.row, cell.metric.name())));
    let notes = in_order(cells.iter().filter_map(|cell| cell.note));
    let far = cells.iter().filter(|it| it.agreement() == Agreement::Far);
    let compared = cells
        .iter()
        .filter(|it| it.agreement() != Agreement::Unknown);
    let mut text = format!(
        "<details open><summary>{} <small>{} compared, {} further away</small></summary>\n<div \
         class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table>\n<tr><th \
         scope=\"row\">row</th><th scope=\"col\">rate</th>",
        escaped(name),
        compared.count(),
        far.count(),
        escaped(name)
    );
    for column in &columns {
        text += &format!("<th scope=\"col\">{}</th>", escaped(column));
    }
    text += "</tr>\n";
    for (row, metric) in rows {
        text += &format!(
            "<tr><th scope=\"row\">{}</th><td>{}</td>",
            escaped(row),
            escaped(metric)
        );
        for column in &columns {
            let is_here = |cell: &&&Reproduced| {
                (&cell.row, cell.metric.name(), cell.column) == (row, metric, *column)
            };
            match cells.iter().find(is_here) {
                Some(cell) => text += &entry(cell, &notes),
                None => text += "<td></td>",
            }
        }
        text += "</tr>\n";
    }
    text += "</table></div>\n<ol class=\"notes\">\n";
    for note in notes {
        text += &format!("<li>{}.</li>\n", escaped(note));
    }
    text + "</ol></details>\n"
}

/// Returns a cell: the pair of values, and the number of its note.
fn entry(cell: &Reproduced, notes: &[&str]) -> String {
    let measured = match (cell.measured, cell.metric) {
        (Some(measured), _) => significant(measured),
        (None, Metric::Crossover) => "none".to_owned(),
        (None, _) => "–".to_owned(),
    };
    let values = match cell.paper_value {
        Some(paper) => format!("{} → {measured}", published(paper)),
        None => measured,
    };
    let note = cell
        .note
        .and_then(|note| notes.iter().position(|&it| it == note));
    let note = note.map_or(String::new(), |index| format!(" <sup>{}</sup>", index + 1));
    let agreement = cell.agreement().name();
    format!("<td class=\"{agreement}\">{values}{note}</td>")
}

/// Returns a published value as printed. Values that are computed from a formula have more digits.
fn published(value: f64) -> String {
    const MOST_PRINTED: usize = 8;
    let text = value.to_string();
    match text.len() > MOST_PRINTED {
        true => significant(value),
        false => text,
    }
}

/// The lowest rate of the picture, in percent; the highest is 100.
const LOWEST: f64 = 0.01;
const SIDE: f64 = 320.0;
const MARGIN: f64 = 40.0;

/// Draws the measured rates over the published ones.
fn dots(cells: &[&Reproduced]) -> String {
    let at = |rate: f64| {
        let share = (rate.max(LOWEST) / LOWEST).ln() / (100.0 / LOWEST).ln();
        share.min(1.0) * SIDE
    };
    let (mut points, mut count) = (String::new(), 0);
    for cell in cells.iter().filter(|cell| cell.metric.is_in_points()) {
        let (Some(paper), Some(measured)) = (cell.paper_value, cell.measured) else {
            continue;
        };
        if paper <= 0.0 {
            continue;
        }
        points += &format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"3\" class=\"{}\" fill-opacity=\"0.6\"/>",
            MARGIN + at(paper),
            SIDE - at(measured) + 8.0,
            cell.agreement().name()
        );
        count += 1;
    }
    if count < 3 {
        return String::new();
    }
    let mut axes = String::new();
    for (rate, label) in [
        (0.01, "0.01"),
        (0.1, "0.1"),
        (1.0, "1"),
        (10.0, "10"),
        (100.0, "100 %"),
    ] {
        let (x, y) = (MARGIN + at(rate), SIDE - at(rate) + 8.0);
        let (bottom, right) = (SIDE + 8.0, MARGIN + SIDE);
        axes += &format!(
            "<path class=\"grid\" d=\"M{x:.1} 8V{bottom}M{MARGIN} {y:.1}H{right}\"/><text x=\"{x:.1}\" \
             y=\"{}\" text-anchor=\"middle\">{label}</text><text x=\"{}\" y=\"{:.1}\" \
             text-anchor=\"end\">{label}</text>",
            bottom + 16.0,
            MARGIN - 4.0,
            y + 4.0
        );
    }
    let (width, height) = (SIDE + MARGIN + 24.0, SIDE + 32.0);
    format!(
        "<figure class=\"dots\"><svg viewBox=\"0 0 {width} {height}\" role=\"img\" \
         aria-label=\"Measured over published rates\">{axes}<path class=\"grid\" d=\"M{MARGIN} \
         {}L{} 8\"/>{points}</svg><figcaption>{count} rates: published to the right, measured \
         upwards. On the diagonal they are equal.</figcaption></figure>\n",
        SIDE + 8.0,
        MARGIN + SIDE
    )
}

#[cfg(test)]
mod tests {
    use dedupstore::lab::reproduce::{Plan, cells};

    use super::*;

    #[test]
    fn the_page_has_every_cell_and_loads_nothing() {
        let cells = cells(Some("003"), Some("Table 1")).expect("a table");
        let plan = Plan::of(&cells, 100);
        let outcome = plan.jobs[0].execute().expect("nothing to measure");
        let measured: Vec<Reproduced> = cells.iter().map(|cell| cell.with(&outcome)).collect();
        let page = page(100, &measured);
        assert_eq!(page.matches("→ –").count(), cells.len());
        assert!(!page.contains("<script") && !page.contains("/*style*/"));
        assert!(page.contains("paper-003") && !page.contains("paper-004"));
        for word in ["http://", "https://", "src=", "url(", "@import"] {
            assert!(!page.contains(word), "{word}");
        }
    }
}
