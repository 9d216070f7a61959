//! The options of a campaign: how many cases, from which seed, or one case again.

/// The options of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CampaignOptions {
    /// The number of cases.
    pub count: u64,
    /// Campaigns of different seeds try different cases.
    pub seed: u64,
    /// The only case to try.
    pub replay: Option<u64>,
}

impl CampaignOptions {
    /// Parses `--seed`, `--replay` and the option `count_name`, whose default is given. Returns None
    /// if an option is unknown or its value is not a count.
    pub fn parse(arguments: &[String], count_name: &str, count: u64) -> Option<Self> {
        let mut options = CampaignOptions {
            count,
            seed: 1,
            replay: None,
        };
        for pair in arguments.chunks(2) {
            let [name, value] = pair else { return None };
            let value = parse_count(value)?;
            match name.as_str() {
                name if name == count_name => options.count = value,
                "--seed" => options.seed = value,
                "--replay" => options.replay = Some(value),
                _ => return None,
            }
        }
        Some(options)
    }
}

/// Parses a count such as `5000`, `200k` or `10M`.
fn parse_count(text: &str) -> Option<u64> {
    let (digits, factor) = match text.chars().last()? {
        'k' | 'K' => (&text[..text.len() - 1], 1000),
        'm' | 'M' => (&text[..text.len() - 1], 1_000_000),
        _ => (text, 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(factor)
}
