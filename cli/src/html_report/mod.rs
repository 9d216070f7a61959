//! The page of `simulate --html`: one file that loads nothing else.
//!
//! Its parts are separate files here, for editors and formatters, and are put together once per
//! report.

pub mod papers;
pub mod trees;

use std::fs;
use std::path::Path;

use dedupstore::lab::{CurvePoint, Scoreboard, Simulation, SlicedRun};
use dedupstore::registry;
use serde_json::{Value, json};

use crate::error::Failure;

/// The page, with placeholders for the style, the data and the script.
const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("script.js");
/// The number of points per curve: enough to show a trend, few enough that an interval of a
/// small log holds many keys.
const INTERVALS: usize = 60;

/// Writes the page.
pub fn write(path: &Path, stream: &str, simulation: &Simulation) -> Result<(), Failure> {
    let page = page(stream, simulation);
    fs::write(path, page).map_err(|error| Failure::Create {
        path: path.to_owned(),
        error,
    })
}

fn page(stream: &str, simulation: &Simulation) -> String {
    let summaries = simulation.summaries(stream);
    let filters = simulation.runs().iter().zip(&summaries);
    let filters = filters.map(|(contestant, summary)| {
        let family = family(contestant.set().spec().descriptor().name);
        let curve = curve(contestant.scoreboard(), contestant.set().filter().cells());
        json!({"summary": summary, "family": family, "curve": curve})
    });
    let sliced = simulation.sliced_runs().iter().enumerate();
    let sliced = sliced.map(|(index, run)| sliced_run(index, run, stream));
    let runs: Vec<Value> = filters.chain(sliced).collect();
    let data = json!({"schema": 1, "stream": stream, "runs": runs});
    // The name of a log must not end the script element.
    let data = data.to_string().replace('<', "\\u003c");
    // The data come last: they may contain anything, also a placeholder.
    TEMPLATE
        .replacen("/*style*/", STYLE, 1)
        .replacen("/*script*/", SCRIPT, 1)
        .replacen("/*data*/", &data, 1)
}

/// Returns a filter on many sites. Its name says what is different: the page shows one line per name.
fn sliced_run(index: usize, run: &SlicedRun, stream: &str) -> Value {
    let mut summary = json!(run.summary(stream));
    let part = |key: &str| summary[key].as_str().unwrap_or_default().to_owned();
    let mut name = format!("{} {}", part("filter"), part("slices"));
    if run.settings().failed > 0 {
        name += &format!(", {} failed, {}", run.settings().failed, part("rule"));
    }
    summary["filter"] = name.into();
    let curve = curve(run.scoreboard(), run.settings().memory_bits);
    json!({"summary": summary, "family": index, "curve": curve})
}

/// Returns the index of a filter in the registry, which decides its color.
fn family(name: &str) -> Option<usize> {
    registry().iter().position(|it| it.name == name)
}

/// Returns the position, both error rates and the load at the end of each interval.
fn curve(scoreboard: &Scoreboard, cells: u64) -> Vec<Value> {
    let cells = cells.max(1) as f64;
    let points = scoreboard.joined_curve(INTERVALS);
    let interval = |pair: &[CurvePoint]| {
        let (before, after) = (&pair[0], &pair[1]);
        json!([
            after.position,
            after.fpr_since(before),
            after.fnr_since(before),
            after.occupied as f64 / cells,
        ])
    };
    points.windows(2).map(interval).collect()
}

#[cfg(test)]
mod tests {
    use dedupstore::lab::{NoClock, Truth};

    use super::*;

    #[test]
    fn the_page_contains_its_data_and_loads_nothing() {
        let mut simulation = Simulation::new(1, Truth::for_fingerprints());
        simulation
            .add_filter(&"bloom".parse().expect("a filter"), 4096)
            .expect("small");
        for i in 0..3000u32 {
            simulation.push_key(&(i % 1000).to_le_bytes(), &NoClock);
        }
        simulation.flush(&NoClock);
        let page = page("</script><script>alert(1)", &simulation);
        for placeholder in ["/*style*/", "/*script*/", "/*data*/"] {
            assert!(!page.contains(placeholder));
        }
        assert_eq!(page.matches("</script>").count(), 2, "its own");
        for word in [
            "http://", "https://", "src=", "href=", "import ", "import(", "fetch(", "url(",
        ] {
            let found = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!found.contains(word), "{word}");
        }
        let start = page.find("{\"schema\"").expect("data");
        let end = page[start..].find("</script>").expect("an end") + start;
        let data: Value = serde_json::from_str(&page[start..end]).expect("JSON");
        assert_eq!(data["runs"][0]["summary"]["count"], 3000);
        assert!(data["runs"][0]["curve"].as_array().expect("points").len() > 10);
    }
}
