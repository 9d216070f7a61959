//! `dedupstore explain`: shows why a store gives a verdict.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::filter::{Evidence, EvidenceCell, PossibleErrors};
use dedupstore::store::ReadOnlyStore;
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::open_store;
use crate::output::Output;
use crate::table::percent;

/// Show why a store reports a key as new or seen, and how certain that is
///
/// Records nothing. Works while another process writes to the store.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The key
    #[arg(value_name = "KEY")]
    key: OsString,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  dedupstore explain links.dds https://harbour.example/";

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let store = ReadOnlyStore::open(path).map_err(Failure::store(path))?;
    let explanation = Explanation::of(&store, &arguments)?;
    let mut output = Output::standard()?;
    match arguments.json {
        true => output.text(&format!("{}\n", explanation.as_json(&store)))?,
        false => output.text(&explanation.page(&store))?,
    }
    output.flush()
}

struct Explanation {
    key: String,
    normalized: String,
    fingerprint: u64,
    verdict: Verdict,
    evidence: Evidence,
}

/// The number of cells shown; `--json` has all.
const MAX_ROWS: usize = 32;

impl Explanation {
    fn of(store: &ReadOnlyStore, arguments: &Arguments) -> Result<Self, Failure> {
        let normalization = open_store::normalization(&arguments.store, store.parameters())?;
        let mut normalized = Vec::new();
        let key = arguments.key.as_encoded_bytes();
        let normalized = normalization.apply(key, &mut normalized);
        let fingerprint = store.hasher().fingerprint(normalized);
        Ok(Explanation {
            key: String::from_utf8_lossy(key).into_owned(),
            normalized: String::from_utf8_lossy(normalized).into_owned(),
            fingerprint: fingerprint.0,
            verdict: store.contains_fingerprint(fingerprint),
            evidence: store.filter().evidence(
                store.filter_region(),
                store.registers(),
                fingerprint,
            ),
        })
    }

    fn as_json(&self, store: &ReadOnlyStore) -> Value {
        let object = |place: &EvidenceCell| {
            json!({
                "meaning": place.meaning,
                "index": place.index,
                "offset_bits": place.offset_bits,
                "width_bits": place.width_bits,
                "value": place.value,
            })
        };
        let links = self.evidence.links.iter().map(object);
        let ways = self.evidence.alternatives.iter().enumerate();
        let cells = ways.flat_map(|(number, way)| {
            way.iter().map(move |place| {
                let mut cell = object(place);
                cell["way"] = json!(number);
                cell
            })
        });
        json!({
            "schema": 1,
            "key": self.key,
            "normalized": self.normalized,
            "fingerprint": format!("{:016x}", self.fingerprint),
            "filter": store.spec().to_string(),
            "verdict": verdict_name(self.verdict),
            "because": self.because(store),
            "wanted": self.evidence.requirement_in_words(&store.filter().cell_layout()),
            "places": cells.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "load": store.load(),
            "estimated_fpr": store.false_positive_rate(),
        })
    }

    fn page(&self, store: &ReadOnlyStore) -> String {
        let mut page = String::new();
        let mut row = |label: &str, text: &str| page += &format!("{label:<12} {text}\n");
        row("key", &self.key);
        if self.normalized != self.key {
            row("normalized", &self.normalized);
        }
        row("fingerprint", &format!("{:016x}", self.fingerprint));
        row("filter", &store.spec().to_string());
        let links = self.evidence.links.iter();
        let cells: Vec<&EvidenceCell> = links.chain(self.evidence.cells()).collect();
        for place in cells.iter().take(MAX_ROWS) {
            let offset = place.offset_bits;
            let text = format!(
                "{} at byte {} of the region, bit {}: {}",
                place.index,
                offset / 8,
                offset % 8,
                place.value,
            );
            row(place.meaning, &text);
        }
        if cells.len() > MAX_ROWS {
            let more = cells.len() - MAX_ROWS;
            row("…", &format!("{more} more; --json prints all"));
        }
        row("verdict", verdict_name(self.verdict));
        row("because", &self.because(store));
        row("certainty", &certainty(store, self.verdict));
        page
    }

    fn because(&self, store: &ReadOnlyStore) -> String {
        self.evidence.in_words(&store.filter().cell_layout())
    }
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// Says how the verdict can be wrong. How often that happens also depends on the stream.
fn certainty(store: &ReadOnlyStore, verdict: Verdict) -> String {
    let errors = store.filter().possible_errors();
    match verdict {
        Verdict::Seen => format!(
            "{} of new keys would be reported as seen too (load {})",
            percent(Some(store.false_positive_rate())),
            percent(Some(store.load())),
        ),
        Verdict::New if errors == PossibleErrors::FalsePositives => {
            "certain: this filter has no false negatives".to_owned()
        }
        Verdict::New => format!(
            "the key may have been seen and forgotten, because this filter can forget (load {}); \
             `dedupstore simulate` measures how often",
            percent(Some(store.load())),
        ),
    }
}
