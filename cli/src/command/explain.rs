//! `dedupstore explain`: shows why a store gives a verdict.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::filter::{Evidence, EvidenceCell, PossibleErrors};
use dedupstore::lines::{KeyOptions, KeyReader};
use dedupstore::store::{Directory, KeyLookup, StoreError};
use dedupstore::theory::{CurrentRates, current_rates};
use dedupstore_view::printable;
use serde_json::{Value, json};

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::machine_clock::unix_seconds;
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

    /// The key itself, not a line that has it. It is normalized as the store records
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
    let mut store = KeyLookup::open(path).map_err(Failure::store(path))?;
    store.advance_clock(unix_seconds());
    let explanation = Explanation::of(&mut store, &arguments)?;
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
    /// Whether the verdict New can be wrong: the key may have been forgotten.
    may_have_forgotten: bool,
    evidence: Evidence,
}

/// The number of cells shown; `--json` has all.
const MAX_ROWS: usize = 32;

impl Explanation {
    fn of(store: &mut KeyLookup<Directory>, arguments: &Arguments) -> Result<Self, Failure> {
        let rule = store.parameters().key_rule(&KeyOptions::default());
        let rule = rule.map_err(Failure::store(&arguments.store))?;
        let key = arguments.key.as_encoded_bytes();
        let mut reader = KeyReader::of(rule);
        let normalized = written_key(store, &mut reader, key);
        let normalized = normalized.map_err(Failure::store(&arguments.store))?;
        let fingerprint = store.hasher().fingerprint(&normalized);
        let evidence = store
            .evidence(fingerprint)
            .map_err(Failure::store(&arguments.store))?;
        Ok(Explanation {
            key: String::from_utf8_lossy(key).into_owned(),
            normalized: String::from_utf8_lossy(reader.shown(&normalized)).into_owned(),
            fingerprint: fingerprint.0,
            verdict: evidence.verdict(),
            may_have_forgotten: store
                .may_have_forgotten(fingerprint)
                .map_err(Failure::store(&arguments.store))?,
            evidence,
        })
    }

    fn as_json(&self, store: &KeyLookup<Directory>) -> Value {
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
            "may_have_forgotten": self.may_have_forgotten,
            "predicted_fnr": rates(store).map(|rates| rates.fnr),
        })
    }

    fn page(&self, store: &KeyLookup<Directory>) -> String {
        let mut page = String::new();
        let mut row = |label: &str, text: &str| page += &format!("{label:<12} {text}\n");
        row("key", &printable(&self.key));
        if self.normalized != self.key {
            row("normalized", &printable(&self.normalized));
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
        row("certainty", &self.certainty(store));
        page
    }

    fn because(&self, store: &KeyLookup<Directory>) -> String {
        self.evidence.in_words(&store.filter().cell_layout())
    }

    /// Says how the verdict can be wrong, and how likely that is.
    fn certainty(&self, store: &KeyLookup<Directory>) -> String {
        let errors = store.filter().possible_errors();
        match self.verdict {
            Verdict::Seen => format!(
                "{} of new keys would be reported as seen too (load {})",
                percent(Some(store.false_positive_rate())),
                percent(Some(store.load())),
            ),
            Verdict::New if errors == PossibleErrors::FalsePositives => {
                "certain: this filter has no false negatives".to_owned()
            }
            Verdict::New if !self.may_have_forgotten => {
                "certain: this filter can forget, but has not yet forgotten any key with these \
                 cells"
                    .to_owned()
            }
            Verdict::New => format!(
                "the key may have been seen and forgotten, because this filter can forget: {} \
                 (load {})",
                match rates(store) {
                    Some(rates) => format!(
                        "by theory, {} of repeats are reported as new at present",
                        percent(Some(rates.fnr))
                    ),
                    None => "`dedupstore simulate` measures how often".to_owned(),
                },
                percent(Some(store.load())),
            ),
        }
    }
}

/// Returns the key to hash. Where keys are JSON values, a key such as 7 stands for the number if
/// the store has seen it, and otherwise for the string.
fn written_key(
    store: &mut KeyLookup<Directory>,
    reader: &mut KeyReader,
    key: &[u8],
) -> Result<Vec<u8>, StoreError> {
    if let Some(value) = reader.written_json_value(key)
        && store.contains(value)?.is_seen()
    {
        return Ok(value.to_vec());
    }
    Ok(reader.written_key(key).to_vec())
}

fn verdict_name(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// Returns the present error rates by theory, if every key is equally likely to repeat.
fn rates(store: &KeyLookup<Directory>) -> Option<CurrentRates> {
    let registers = store.registers();
    current_rates(
        store.spec(),
        store.parameters().memory_bits,
        registers.observations(),
        registers.new_count(),
        None,
    )
}
