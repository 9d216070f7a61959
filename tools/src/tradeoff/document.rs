//! Formats the cells as docs/TRADEOFFS.md.

use std::fmt::Write;

use super::best_without_sample::best_without_sample;
use super::cell::{Cell, Run, Tally};
use super::features::features;
use super::measure::Effort;
use crate::windows::{WindowCell, percent as percent_of, wrong, wrong_share};

/// Returns the document, from the cells of the main streams, of the held-out streams and of windows.
pub fn document(
    (effort, cells): (&Effort, &[Cell]),
    (held_out_effort, held_out): (&Effort, &[Cell]),
    windows: &[WindowCell],
) -> String {
    let mut text = introduction(effort);
    text += &tallies(&Tally::of(cells.iter()), &Tally::of(held_out.iter()));
    text += &format!(
        "\nWithout a sample the adviser cannot know whether old keys return. It may pick a filter that \
         remembers every key although one that forgets old keys would make fewer errors. If each memory \
         size used one filter on all streams, chosen with these results known, at most {} of {} cells \
         would be good by bare counts, and {} of {} cells of the held-out streams.\n",
        best_without_sample(cells),
        cells.len(),
        best_without_sample(held_out),
        held_out.len(),
    );
    text += &undecided(cells.iter().chain(held_out));
    text += PICKS_HEADING;
    text += &picks(cells);
    text += &held_out_heading(held_out_effort);
    text += &picks(held_out);
    text += WINDOWS_HEADING;
    text += &window_picks(windows);
    text += &features();
    text += FILTERS_HEADING;
    for cell in cells {
        text += &section(cell);
    }
    text
}

fn introduction(effort: &Effort) -> String {
    let Effort {
        count,
        min_trials,
        max_trials,
        enough_errors,
        ..
    } = effort;
    format!(
        "# Which filter for which stream\n\n\
         Written by `cargo xtask tradeoff`. Every filter of the registry runs at many parameters over \
         synthetic streams of {count} keys. An exact set decides which verdicts are wrong. Memory is \
         given in bits per distinct key.\n\n\
         - **FPR**: share of first occurrences that the filter drops (false positives).\n\
         - **FNR**: share of repeats that the filter lets through (false negatives).\n\
         - **wrong**: share of all verdicts that are wrong.\n\
         - **`expect`**: the filter that `advise` picks from the memory and the number of distinct keys.\n\
         - **`sample`**: the filter that `advise` picks from a sample: {count} keys of the same kind of \
         stream under another seed.\n\n\
         A pick is good if it makes at most 10 % more errors than the best run, or if it is on the \
         Pareto front: every run with fewer errors of one kind has more of the other kind. The first row \
         of the table below compares bare counts. The second row treats a run as better only if the \
         difference exceeds two standard errors, because filters with the same error probabilities (such \
         as `bloom:k=1` and `blocked:k=1,cap=100`) beat each other by chance.\n\n\
         Every configuration runs once over each stream. Those that may be the best, or better than a \
         pick, run at least {min_trials} times under other seeds and hashes, and then until the best has \
         made {enough_errors} errors, but at most {max_trials} times. After that, a difference of 10 % is \
         rarely due to chance.\n\n",
    )
}

const PICKS_HEADING: &str = "\n## Picks\n\n\
    The columns `errors` give the errors of a pick relative to the best run: × 1.04 is 4 % more. \
    `*` marks a pick that is more than 10 % worse, but on the Pareto front. Bold picks are not good.\n\n";

fn held_out_heading(effort: &Effort) -> String {
    format!(
        "\n## Picks on held-out streams\n\n\
         The adviser was not tuned on these streams. They have other parameters and seeds, and {} keys. \
         The contenders run at most {} times.\n\n",
        effort.count, effort.max_trials,
    )
}

const WINDOWS_HEADING: &str = "\n## Picks for a window\n\n\
    Filters that forget keys after a span of 60,000 seconds. [WINDOWS](WINDOWS.md) explains the \
    setting and has the rates of every filter. Here memory is given in bits per key in the window, \
    and `wrong` counts errors against the filter's own deliveries. Every configuration runs once, so \
    differences of a few errors are chance; `*` and bold are as above, by bare counts.\n\n";

/// A table like [`picks`], for windows.
fn window_picks(cells: &[WindowCell]) -> String {
    let mut text = PICKS_HEADER.to_owned();
    for cell in cells {
        let best = cell.best();
        let _ = write!(
            text,
            "| `{}` | {} | `{}` | {} |",
            cell.stream,
            cell.bits_per_key,
            best.filter,
            percent_of(wrong_share(best)),
        );
        for pick in [cell.pick(0), cell.pick(1)] {
            let (errors, least) = (wrong(pick), wrong(best));
            let is_near_best = errors as f64 <= 1.1 * least as f64;
            let relative = marked_errors(errors, least, is_near_best, cell.is_on_front(pick));
            let _ = write!(text, " `{}` | {relative} |", pick.filter);
        }
        text.push('\n');
    }
    text
}

const FILTERS_HEADING: &str = "\n## Every filter at its best parameters\n\n\
    For each filter, the parameters with the fewest errors. `*` marks the Pareto front by bare counts.\n";

fn tallies(main: &Tally, held_out: &Tally) -> String {
    let mut text =
        "| | main streams: `expect` | `sample` | held-out streams: `expect` | `sample` |\n\
                    |---|---|---|---|---|\n"
            .to_owned();
    type Part = fn(&Tally) -> [usize; 2];
    let rows: [(&str, Part); 4] = [
        (
            "on the front by bare counts, or at most 10 % more errors than the best",
            |tally| tally.good_by_counts,
        ),
        (
            "on the front by two standard errors, or at most 10 % more errors than the best",
            |tally| tally.good,
        ),
        ("at most 10 % more errors than the best", |tally| {
            tally.near_best
        }),
        ("a filter of the papers is better on both rates", |tally| {
            tally.dominated_by_papers
        }),
    ];
    for (label, part) in rows {
        let _ = write!(text, "| {label} |");
        for tally in [main, held_out] {
            for count in part(tally) {
                let percent = 100.0 * tally.share(count);
                let _ = write!(text, " {count} of {}, {percent:.0} % |", tally.cells);
            }
        }
        text.push('\n');
    }
    text
}

/// Lists the picks that a run dominates by bare counts but not significantly.
fn undecided<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut text = String::new();
    for cell in cells {
        for pick in cell.picks() {
            let dominating = cell.dominating_by_counts(pick);
            let by_chance = !cell.is_near_best(pick) && cell.is_on_front(pick);
            if let Some((other, others, mine)) = dominating.filter(|_| by_chance) {
                let _ = writeln!(
                    text,
                    "- `{}` at {} bits per key: `{}` dropped {} new keys and missed {} repeats; the pick \
                     `{}` dropped {} and missed {}.",
                    cell.stream,
                    cell.bits_per_key,
                    other.filter,
                    others.dropped,
                    others.missed,
                    pick.filter,
                    mine.dropped,
                    mine.missed,
                );
            }
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("{UNDECIDED_HEADING}{text}"),
    }
}

const UNDECIDED_HEADING: &str = "\nThe following picks are behind another run by less than two standard \
    errors, which may be chance. The two layouts of a Bloom filter, for example, have almost the same \
    error probabilities.\n\n";

const PICKS_HEADER: &str = "| stream | bits/key | best | wrong % | `expect` | errors | `sample` | errors |\n\
    |---|---|---|---|---|---|---|---|\n";

/// A table with one row per cell: the best run, and the picks relative to it.
fn picks(cells: &[Cell]) -> String {
    let mut text = PICKS_HEADER.to_owned();
    for cell in cells {
        let best = cell.best();
        let _ = write!(
            text,
            "| `{}` | {} | `{}` | {} |",
            cell.stream,
            cell.bits_per_key,
            best.filter,
            percent(cell.error_rate(best)),
        );
        for pick in cell.picks() {
            let relative = relative_errors(cell, pick);
            let _ = write!(text, " `{}` | {relative} |", pick.filter);
        }
        text.push('\n');
    }
    text
}

fn relative_errors(cell: &Cell, pick: &Run) -> String {
    let (errors, least) = (pick.errors().total(), cell.least_errors());
    let (is_near_best, is_on_front) = (cell.is_near_best(pick), cell.is_on_front_by_counts(pick));
    marked_errors(errors, least, is_near_best, is_on_front)
}

/// Errors relative to the fewest, with the mark of a pick that is not near them.
fn marked_errors(errors: u64, least: u64, is_near_best: bool, is_on_front: bool) -> String {
    let relative = match (errors, least) {
        (0, 0) => "none".to_owned(),
        (_, 0) => format!("{errors}, not 0"),
        _ => format!("× {:.2}", errors as f64 / least as f64),
    };
    match (is_near_best, is_on_front) {
        (true, _) => relative,
        (false, true) => format!("{relative} \\*"),
        (false, false) => format!("**{relative}**"),
    }
}

fn section(cell: &Cell) -> String {
    let unit = if cell.bits_per_key == 1.0 {
        "bit"
    } else {
        "bits"
    };
    let mut text = format!(
        "\n### {}, {} {unit} per key\n\n\
         | filter | FPR % | FNR % | wrong % | | advised |\n|---|---|---|---|---|---|\n",
        cell.stream, cell.bits_per_key
    );
    let rate = |run: &&Run| cell.error_rate(run);
    let mut shown: Vec<&Run> = Vec::new();
    let mut sorted: Vec<&Run> = cell.runs.iter().collect();
    sorted.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    for run in sorted {
        let name = run.filter.descriptor().name;
        if !shown.iter().any(|it| it.filter.descriptor().name == name) {
            shown.push(run);
        }
    }
    for pick in cell.picks() {
        if !shown.iter().any(|run| run.filter == pick.filter) {
            shown.push(pick);
        }
    }
    shown.sort_by(|a, b| rate(a).total_cmp(&rate(b)));
    for run in shown {
        let advised = match cell.picks().map(|pick| pick.filter == run.filter) {
            [true, true] => "expect, sample",
            [true, false] => "expect",
            [false, true] => "sample",
            [false, false] => "",
        };
        let (fpr, fnr) = cell.rates(run);
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {advised} |",
            run.filter,
            percent(fpr),
            percent(fnr),
            percent(cell.error_rate(run)),
            if cell.is_on_front_by_counts(run) {
                "\\*"
            } else {
                ""
            },
        );
    }
    text
}

/// Three significant digits, and at most four decimals.
fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        0.0 => "0".to_owned(),
        10.0.. => format!("{percent:.1}"),
        1.0.. => format!("{percent:.2}"),
        0.1.. => format!("{percent:.3}"),
        _ => format!("{percent:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{EFFORT, HELD_OUT_EFFORT};
    use super::*;

    /// The numbers take ten minutes to measure; the words must agree without that.
    #[test]
    fn the_committed_document_has_the_words_of_this_generator() {
        let path = crate::root().join("docs/TRADEOFFS.md");
        let document = std::fs::read_to_string(path).expect("docs/TRADEOFFS.md");
        let table_head = picks(&[]);
        for part in [
            &introduction(&EFFORT),
            UNDECIDED_HEADING,
            PICKS_HEADING,
            &held_out_heading(&HELD_OUT_EFFORT),
            WINDOWS_HEADING,
            FILTERS_HEADING,
            &table_head,
        ] {
            assert!(document.contains(part), "docs/TRADEOFFS.md lacks:\n{part}");
        }
    }
}
