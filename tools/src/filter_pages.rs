//! A page a filter, from the registry and the laboratory: docs/filters.

use std::fmt::Write;

use dedupstore::filter::{Descriptor, Drawing};
use dedupstore::lab::{NoClock, Simulation, StreamSpec};
use dedupstore::theory::{Prediction, Workload, predict};
use dedupstore::{FilterSpec, registry};

const STREAM: &str = "shuffle:60";
const COUNT: u64 = 50_000;
const SEED: u64 = 1;
/// Four for each of 30,000 distinct keys.
const MEMORY_BITS: u64 = 120_000;
const STRETCHES: usize = 8;

/// The file name of each page and its text; the first is the list of them.
pub fn pages() -> Vec<(String, String)> {
    let stream: StreamSpec = STREAM.parse().expect("a stream");
    let mut keys = stream.open(COUNT, SEED);
    let mut race = Simulation::over(&keys, SEED);
    let filters: Vec<FilterSpec> = registry()
        .iter()
        .map(|descriptor| FilterSpec::with_defaults(descriptor))
        .collect();
    for filter in &filters {
        race.enter(filter, MEMORY_BITS).expect("memory enough");
    }
    while let Some(arrival) = keys.next_arrival() {
        race.push_arrival(&arrival, &NoClock);
    }
    race.flush(&NoClock);
    let distinct = race.contestants()[0].board().now().distinct;
    let workload = Workload::with_gaps(COUNT, distinct, race.gaps().histogram());
    let mut pages = vec![("README.md".to_owned(), list())];
    for (filter, contestant) in filters.iter().zip(race.contestants()) {
        let theory = predict(filter, MEMORY_BITS, &workload);
        let mut text = from_registry(filter.descriptor());
        text += &curve(filter, contestant.board(), theory.as_ref());
        pages.push((format!("{}.md", filter.descriptor().name), text));
    }
    pages
}

fn list() -> String {
    let mut text =
        "# The filters\n\nWritten by `cargo run --release -p dedupstore-tests --example \
                    pages` from the registry and the laboratory. [Which filter \
                    where](../TRADEOFFS.md) has them side by side.\n\n| filter | errs | choose it |\n\
                    |---|---|---|\n"
            .to_owned();
    for it in registry() {
        let (name, errs) = (it.name, it.errs.in_words());
        let _ = writeln!(
            text,
            "| [`{name}`]({name}.md) | {errs} | {} |",
            it.choose_when
        );
    }
    text
}

fn from_registry(it: &Descriptor) -> String {
    let source = &it.source;
    let mut text = format!(
        "# {}: `{}`\n\n{}\n\n**Promises.** {} It {}.\n\n**Choose it.** {}\n\n\
         **Source.** {}, \"{}\", {}.\n\n",
        it.title,
        it.name,
        it.summary,
        it.promise,
        it.errs.in_words(),
        it.choose_when,
        source.authors,
        source.title,
        source.year
    );
    text += &drawing(&it.drawing);
    if it.parameters.is_empty() {
        return text + "It has no parameters.\n";
    }
    text += "| parameter | sets | may be | default |\n|---|---|---|---|\n";
    for parameter in it.parameters {
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} |",
            parameter.name,
            parameter.meaning,
            parameter.kind.allowed(),
            parameter.kind.default_value()
        );
    }
    text
}

fn drawing(it: &Drawing) -> String {
    let mut text = format!("**A new key `x` comes.** {}\n\n```\n", it.caption);
    let width = it
        .before
        .iter()
        .map(|row| row.len())
        .max()
        .unwrap_or(0)
        .max(6);
    let rows = it.before.iter().zip(it.after);
    for (before, after) in std::iter::once((&"before", &"after")).chain(rows) {
        let _ = writeln!(text, "{before:<width$}   {after}");
    }
    text + "```\n\n"
}

fn curve(
    filter: &FilterSpec,
    board: &dedupstore::lab::Scoreboard,
    theory: Option<&Prediction>,
) -> String {
    let mut text = format!(
        "\n## Along a stream\n\n`{filter}` in {MEMORY_BITS} bits on `{STREAM}`, {COUNT} keys, seed \
         {SEED}: four bits for each distinct key, repeats uniform picks of all keys. Rates are \
         those of each stretch, in percent, beside theory at its middle.\n\n\
         | keys | FPR | theory | FNR | theory | load |\n|---|---|---|---|---|---|\n"
    );
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.2}", 100.0 * share),
        None => "–".to_owned(),
    };
    let points = board.curve_of(STRETCHES);
    let cells = dedupstore::AnyFilter::build(filter, MEMORY_BITS).map_or(1, |it| it.cells());
    for pair in points.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        let middle = (before.position + now.position) as f64 / 2.0;
        let _ = writeln!(
            text,
            "| {} to {} | {} | {} | {} | {} | {} |",
            before.position,
            now.position,
            percent(now.fpr_since(before)),
            percent(theory.map(|theory| theory.fpr_at(middle))),
            percent(now.fnr_since(before)),
            percent(theory.map(|theory| theory.fnr_at(middle))),
            percent(Some(now.occupied as f64 / cells as f64)),
        );
    }
    let _ = write!(
        text,
        "\nOver the whole stream: FPR {}, FNR {}",
        percent(board.fpr()),
        percent(board.fnr())
    );
    match theory {
        Some(theory) => {
            let (fpr, fnr) = (percent(Some(theory.fpr)), percent(Some(theory.fnr)));
            let _ = writeln!(
                text,
                "; by theory {fpr} and {fnr} ({}; loose for {}).",
                theory.by, theory.loose
            );
        }
        None => text += ".\n",
    }
    text
}
