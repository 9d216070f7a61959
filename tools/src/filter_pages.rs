//! Generates docs/filters: one page per filter, from the registry and from laboratory runs.

use std::fmt::Write;

use dedupstore::filter::{Descriptor, Drawing};
use dedupstore::lab::{NoClock, Simulation, StreamSpec};
use dedupstore::theory::{Prediction, Workload, predict};
use dedupstore::{FilterSpec, registry};

const STREAM: &str = "shuffle:60";
const COUNT: u64 = 50_000;
const SEED: u64 = 1;
/// Four bits for each of 30,000 distinct keys.
const MEMORY_BITS: u64 = 120_000;
const INTERVALS: usize = 8;
/// The span of windows, in keys.
const SPAN: &str = "10000";
const WINDOW: &str = "One key comes per second. A key is new unless the filter delivered it within \
    the span, so the measured FPR also counts keys that come again after it; theory is about keys \
    that never occurred.\n\n";

/// Returns the file name and the text of each page. The first page lists the others.
pub fn pages() -> Vec<(String, String)> {
    let stream: StreamSpec = STREAM.parse().expect("a stream");
    let mut keys = stream.open(COUNT, SEED);
    let mut race = Simulation::for_stream(&keys, SEED);
    let filters: Vec<FilterSpec> = registry().iter().map(|it| measured_filter(it)).collect();
    for filter in &filters {
        race.add_filter(filter, MEMORY_BITS)
            .expect("enough memory for every filter");
    }
    while let Some(arrival) = keys.next_arrival() {
        race.push_arrival(&arrival, &NoClock);
    }
    race.flush(&NoClock);
    let distinct = race.runs()[0].scoreboard().now().distinct;
    let workload = Workload::with_gaps(COUNT, distinct, race.gaps().histogram());
    let mut pages = vec![("README.md".to_owned(), list())];
    for (filter, contestant) in filters.iter().zip(race.runs()) {
        let theory = predict(filter, MEMORY_BITS, &workload);
        let mut text = from_registry(filter.descriptor());
        text += &curve(filter, contestant.scoreboard(), theory.as_ref());
        pages.push((format!("{}.md", filter.descriptor().name), text));
    }
    pages
}

/// Returns the filter of a page: its defaults. A window is so short that it passes several times.
fn measured_filter(descriptor: &'static Descriptor) -> FilterSpec {
    let defaults = FilterSpec::with_defaults(descriptor);
    match defaults.has_window() {
        true => defaults.with("span", SPAN).unwrap_or(defaults),
        false => defaults,
    }
}

fn list() -> String {
    let mut text =
        "# The filters\n\nWritten by `cargo xtask filter-pages` from the registry and from laboratory \
                    runs. [Which filter for which stream](../TRADEOFFS.md) compares them.\n\n\
                    | filter | errors | when to choose it |\n|---|---|---|\n"
            .to_owned();
    for it in registry() {
        let (name, errs) = (it.name, it.errors.in_words());
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
        "# {}: `{}`\n\n{}\n\n**Guarantee.** {} It {}.\n\n**When to choose it.** {}\n\n\
         **Source.** {}, \"{}\", {}.\n\n",
        it.title,
        it.name,
        it.summary,
        it.promise,
        it.errors.in_words(),
        it.choose_when,
        source.authors,
        source.title,
        source.year
    );
    text += &drawing(&it.drawing);
    if it.parameters.is_empty() {
        return text + "It has no parameters.\n";
    }
    text += "| parameter | meaning | values | default |\n|---|---|---|---|\n";
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
    let mut text = format!("**Observing a new key `x`.** {}\n\n```\n", it.caption);
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
    let built = dedupstore::AnyFilter::build(filter, MEMORY_BITS).expect("enough memory");
    let window = built.window().map_or("", |_| WINDOW);
    let mut text = format!(
        "\n## Error rates along a stream\n\n`{filter}` in {MEMORY_BITS} bits on `{STREAM}`, {COUNT} keys, \
         seed {SEED}: 4 bits per distinct key; each repeat is a uniform choice among all keys. Rates \
         are percentages of each interval; theory is evaluated at its midpoint.\n\n{window}\
         | keys | FPR | theory | FNR | theory | load |\n|---|---|---|---|---|---|\n"
    );
    let percent = |share: Option<f64>| match share {
        Some(share) => format!("{:.2}", 100.0 * share),
        None => "–".to_owned(),
    };
    let points = board.coarse_curve(INTERVALS);
    let cells = built.cells();
    for pair in points.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        let midpoint = (before.position + now.position) as f64 / 2.0;
        let _ = writeln!(
            text,
            "| {} to {} | {} | {} | {} | {} | {} |",
            before.position,
            now.position,
            percent(now.fpr_since(before)),
            percent(theory.map(|theory| theory.fpr_at(midpoint))),
            percent(now.fnr_since(before)),
            percent(theory.map(|theory| theory.fnr_at(midpoint))),
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
                "; theory {fpr} and {fnr} ({}; less exact for {}).",
                theory.by, theory.loose
            );
        }
        None => text += ".\n",
    }
    text
}
