//! `dedupstore explain`: where a verdict comes from.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use dedupstore::Verdict;
use dedupstore::filter::{Errs, Evidence, Place};
use dedupstore::store::{ReadOnlyStore, Store};
use serde_json::{Value, json};

use crate::error::Failure;
use crate::opening;
use crate::output::Output;
use crate::table::percent;

/// Show how a store decides about a key: the cells it looks at, the verdict, the doubt
///
/// Records nothing, and works beside a running writer.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Which store
    #[arg(value_name = "STORE")]
    store: PathBuf,

    /// The key
    #[arg(value_name = "KEY")]
    key: OsString,

    /// Print one object
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "\
Example:
  dedupstore explain links.dds https://harbour.example/";

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let path = &arguments.store;
    let store = Store::open_read_only(path).map_err(Failure::store(path))?;
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

/// More cells than this are told in one row.
const MOST_ROWS: usize = 32;

impl Explanation {
    fn of(store: &ReadOnlyStore, arguments: &Arguments) -> Result<Self, Failure> {
        let normalization = opening::normalization(&arguments.store, store.parameters(), None)?;
        let mut normalized = Vec::new();
        let key = arguments.key.as_encoded_bytes();
        let normalized = normalization.apply(key, &mut normalized);
        let fingerprint = store.hasher().fingerprint(normalized);
        Ok(Explanation {
            key: String::from_utf8_lossy(key).into_owned(),
            normalized: String::from_utf8_lossy(normalized).into_owned(),
            fingerprint: fingerprint.0,
            verdict: store.contains_fingerprint(fingerprint),
            evidence: store.filter().evidence(store.filter_region(), fingerprint),
        })
    }

    fn as_json(&self, store: &ReadOnlyStore) -> Value {
        let object = |place: &Place| {
            json!({
                "meaning": place.meaning,
                "index": place.index,
                "offset_bits": place.offset_bits,
                "width_bits": place.width_bits,
                "value": place.value,
            })
        };
        let links = self.evidence.links.iter().map(object);
        let ways = self.evidence.ways.iter().enumerate();
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
            "verdict": in_a_word(self.verdict),
            "because": self.because(store),
            "wanted": self.evidence.wanted_in_words(&store.filter().anatomy()),
            "places": cells.collect::<Vec<_>>(),
            "links": links.collect::<Vec<_>>(),
            "load": store.load(),
            "estimated_fpr": store.drop_chance(),
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
        let cells: Vec<&Place> = links.chain(self.evidence.cells()).collect();
        for place in cells.iter().take(MOST_ROWS) {
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
        if cells.len() > MOST_ROWS {
            let more = cells.len() - MOST_ROWS;
            row("and", &format!("{more} more; --json has all"));
        }
        row("verdict", in_a_word(self.verdict));
        row("because", &self.because(store));
        row("doubt", &doubt(store, self.verdict));
        page
    }

    fn because(&self, store: &ReadOnlyStore) -> String {
        self.evidence.in_words(&store.filter().anatomy())
    }
}

fn in_a_word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::New => "new",
        Verdict::Seen => "seen",
    }
}

/// What the verdict may be wrong about. How often such keys come is the stream's affair.
fn doubt(store: &ReadOnlyStore, verdict: Verdict) -> String {
    let errs = store.spec().descriptor().errs;
    match verdict {
        Verdict::Seen => format!(
            "of keys never met, {} would be taken for seen too (load {})",
            percent(Some(store.drop_chance())),
            percent(Some(store.load())),
        ),
        Verdict::New if errs == Errs::DropsNew => {
            "none: this filter never takes a key that it has met for new".to_owned()
        }
        Verdict::New => {
            "it may have been met and forgotten since: this filter forgets; `dedupstore simulate` \
             tells how often, on your log"
                .to_owned()
        }
    }
}
