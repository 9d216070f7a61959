//! The cells as a document.

use std::fmt::Write;

use super::blind::most_without_a_look;
use super::cell::{Cell, Run, Tally};
use super::contest::Effort;

/// docs/TRADEOFFS.md: the cells that count, and those of streams that nothing was chosen by.
pub fn document(
    (effort, cells): (&Effort, &[Cell]),
    (other_effort, held_out): (&Effort, &[Cell]),
) -> String {
    let count = effort.count;
    let mut text = format!(
        "# Which filter where\n\n\
         Written by `cargo xtask tradeoff`: streams of {count} keys, memory by distinct key, every \
         filter of the registry at many parameters, against exact truth. FPR is the share of first \
         occurrences that are dropped, FNR the share of repeats that pass, wrong the share of all \
         verdicts that are either.\n\n\
         `expect` is what `advise` picks when told the memory and the number of keys, `sample` what \
         it picks by a log of another stream of the same kind (another seed, {count} keys). A pick is \
         good if it errs at most a tenth more than the best of all that was run, or is on the front: \
         nothing that was run is better on both rates, by bare counts. The line below that takes \
         for better only what is so by more than two standard errors: filters of one law (`bloom:k=1` \
         in one part or in lines) may else beat one another by chance.\n\n\
         Everything is run once over each stream. What may be the best, or better than a pick, is run \
         {} times under other seeds and hashes, and on until the best has made {} errors, or {} times: \
         so that a tenth is more than chance, or nearly.\n\n",
        effort.least_tracks, effort.enough_errors, effort.most_tracks,
    );
    text += &tallies(&Tally::of(cells.iter()), &Tally::of(held_out.iter()));
    text += &format!(
        "\nWithout a sample the adviser cannot know that a stream drifts, and takes a filter that \
         keeps every key where one that keeps the last few would do: that is where it misses. One \
         filter for each memory, the same on all streams, would be good in {} of {} cells at the \
         most, by bare counts, even if it were chosen with this table in hand; on the other streams, \
         in {} of {}.\n",
        most_without_a_look(cells),
        cells.len(),
        most_without_a_look(held_out),
        held_out.len(),
    );
    text += &undecided(cells.iter().chain(held_out));
    text += "\n## What is picked\n\n";
    text += &picks(cells);
    text += &format!(
        "\n## What is picked on other streams\n\nOther parameters and other seeds, {} keys, at most {} \
         times: nothing in the adviser was chosen by these.\n\n",
        other_effort.count, other_effort.most_tracks,
    );
    text += &picks(held_out);
    text += "\n## Every filter at its best parameters\n\nFor each filter, of all parameters that were \
             run, those with the fewest errors. `*` is on the front.\n";
    for cell in cells {
        text += &section(cell);
    }
    text
}

fn tallies(ours: &Tally, held_out: &Tally) -> String {
    let mut text =
        "| | streams below: `expect` | `sample` | other streams: `expect` | `sample` |\n\
                    |---|---|---|---|---|\n"
            .to_owned();
    type Part = fn(&Tally) -> [usize; 2];
    let lines: [(&str, Part); 4] = [
        (
            "on the front, or within a tenth of the fewest errors",
            |tally| tally.good_by_counts,
        ),
        ("the same, with the front by two standard errors", |tally| {
            tally.good
        }),
        ("within a tenth of the fewest errors", |tally| tally.near),
        ("a filter of the papers is better on both rates", |tally| {
            tally.beaten_by_papers
        }),
    ];
    for (what, part) in lines {
        let _ = write!(text, "| {what} |");
        for tally in [ours, held_out] {
            for found in part(tally) {
                let percent = 100.0 * tally.share(found);
                let _ = write!(text, " {found} of {}, {percent:.0} % |", tally.cells);
            }
        }
        text.push('\n');
    }
    text
}

/// Picks that something beats by its counts, and by no more than chance explains.
fn undecided<'a>(cells: impl Iterator<Item = &'a Cell>) -> String {
    let mut text = String::new();
    for cell in cells {
        for pick in [&cell.untold, &cell.told] {
            let beaten = cell.better_by_counts(pick);
            let by_chance = !cell.is_near(pick) && cell.is_on_front(pick);
            if let Some((other, others, mine)) = beaten.filter(|_| by_chance) {
                let _ = writeln!(
                    text,
                    "- `{}` at {} bits: `{}` against `{}` dropped {} against {} new keys, and missed \
                     {} against {} repeats.",
                    cell.stream,
                    cell.bits_a_key,
                    other.filter,
                    pick.filter,
                    others.dropped,
                    mine.dropped,
                    others.missed,
                    mine.missed,
                );
            }
        }
    }
    match text.is_empty() {
        true => text,
        false => format!(
            "\nWhere a pick counts as beaten by less than two standard errors, it may be a tie (a Bloom \
             filter's bits in one span or in k parts are told apart by about one error in as many as \
             there are bits):\n\n{text}"
        ),
    }
}

/// A line a cell: the best, and how far from it what was picked is.
fn picks(cells: &[Cell]) -> String {
    let mut text =
        "| stream | bits a key | the best | wrong % | `expect` | errors | `sample` | errors |\n\
                    |---|---|---|---|---|---|---|---|\n"
            .to_owned();
    for cell in cells {
        let best = cell.best();
        let _ = write!(
            text,
            "| `{}` | {} | `{}` | {} |",
            cell.stream,
            cell.bits_a_key,
            best.filter,
            percent(cell.wrong(best)),
        );
        for pick in [&cell.untold, &cell.told] {
            let _ = write!(text, " `{}` | {} |", pick.filter, verdict(cell, pick));
        }
        text.push('\n');
    }
    text
}

fn verdict(cell: &Cell, pick: &Run) -> String {
    let (errors, least) = (pick.errors().total(), cell.least_errors());
    let times = match (errors, least) {
        (0, 0) => "none".to_owned(),
        (_, 0) => format!("{errors}, not 0"),
        _ => format!("× {:.2}", errors as f64 / least as f64),
    };
    match (cell.is_near(pick), cell.is_on_front_by_counts(pick)) {
        (true, _) => times,
        (false, true) => format!("{times} \\*"),
        (false, false) => format!("**{times}**"),
    }
}

fn section(cell: &Cell) -> String {
    let mut text = format!(
        "\n### {}, {} bits a distinct key\n\n\
         | filter | FPR % | FNR % | wrong % | | advised |\n|---|---|---|---|---|---|\n",
        cell.stream, cell.bits_a_key
    );
    let wrong = |run: &&Run| cell.wrong(run);
    let mut shown: Vec<&Run> = Vec::new();
    let mut sorted: Vec<&Run> = cell.runs.iter().collect();
    sorted.sort_by(|a, b| wrong(a).total_cmp(&wrong(b)));
    for run in sorted {
        let name = run.filter.descriptor().name;
        if !shown.iter().any(|it| it.filter.descriptor().name == name) {
            shown.push(run);
        }
    }
    for pick in [&cell.untold, &cell.told] {
        if !shown.iter().any(|run| run.filter == pick.filter) {
            shown.push(pick);
        }
    }
    shown.sort_by(|a, b| wrong(a).total_cmp(&wrong(b)));
    for run in shown {
        let advised = match [&cell.untold, &cell.told].map(|pick| pick.filter == run.filter) {
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
            percent(cell.wrong(run)),
            if cell.is_on_front_by_counts(run) {
                "\\*"
            } else {
                ""
            },
        );
    }
    text
}

/// Three digits, as far as a ten-thousandth of a percent.
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
