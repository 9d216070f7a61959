//! How many machines so many keys need: by calculation, from measured and from assumed figures.

/// A figure with its name, what it is, and its value unless it is given.
struct Figure {
    name: &'static str,
    meaning: &'static str,
    value: f64,
}

/// What `cargo xtask cluster-bench` has measured.
const MEASURED: [Figure; 3] = [
    figure("key-us", "processor time of a server per key, in µs", 0.25),
    figure(
        "command-us",
        "processor time of a server per command, in µs; a batch is one command per slice that it meets",
        0.47,
    ),
    figure("bytes", "memory per key, in bytes", 4.1),
];

/// What nobody has measured here.
const ASSUMED: [Figure; 9] = [
    figure("slice-mib", "size of a slice, in MiB", 64.0),
    figure("days", "length of the crawl, in days", 90.0),
    figure("meetings", "how often each key occurs", 10.0),
    figure("leaf", "share of these that a leaf answers", 0.8),
    figure(
        "batch",
        "keys per batch, which is one message per node",
        1000.0,
    ),
    figure("machine-gb", "memory of a machine, in GB", 64.0),
    figure("price", "price of a machine, in $ per hour", 0.25),
    figure(
        "usable",
        "share of memory and processor that is planned for",
        0.5,
    ),
    figure("copies", "copies of each slice, on different machines", 2.0),
];

const fn figure(name: &'static str, meaning: &'static str, value: f64) -> Figure {
    Figure {
        name,
        meaning,
        value,
    }
}

/// The most slices of a store.
const MOST_SLICES: f64 = 4096.0;
/// The longest string of Redis, in MiB.
const LONGEST_MIB: f64 = 512.0;

/// The figures of a calculation.
pub struct Plan {
    figures: Vec<Figure>,
}

impl Plan {
    /// Parses options such as `--days 30`.
    pub fn parse(options: &[String]) -> Result<Self, String> {
        let mut plan = Plan {
            figures: MEASURED.into_iter().chain(ASSUMED).collect(),
        };
        for pair in options.chunks(2) {
            let name = pair[0].trim_start_matches("--");
            let value = pair.get(1).and_then(|text| text.parse::<f64>().ok());
            let figure = plan.figures.iter_mut().find(|it| it.name == name);
            match (figure, value.filter(|it| it.is_finite() && *it > 0.0)) {
                (Some(figure), Some(value)) => figure.value = value,
                _ => return Err(format!("cluster-bench scale: `{name}`\n{}", usage())),
            }
        }
        Ok(plan)
    }

    fn get(&self, name: &str) -> f64 {
        let found = self.figures.iter().find(|it| it.name == name);
        found.map_or(0.0, |it| it.value)
    }

    /// Prints the figures, and one row per number of keys.
    pub fn print(&self) {
        println!("| option | meaning | value | |");
        println!("|---|---|---|---|");
        for (index, figure) in self.figures.iter().enumerate() {
            let origin = match index < MEASURED.len() {
                true => "measured",
                false => "assumed",
            };
            let Figure {
                name,
                meaning,
                value,
            } = figure;
            println!("| `--{name}` | {meaning} | {value} | {origin} |");
        }
        println!();
        println!(
            "| keys | memory, all copies | keys/s at the root | share of one processor | messages/s | \
             machines | slices | cost of the crawl | per billion keys |"
        );
        println!("|---|---|---|---|---|---|---|---|---|");
        for exponent in [8, 9, 10, 11] {
            self.print_row(exponent);
        }
    }

    fn print_row(&self, exponent: i32) {
        let keys = 10f64.powi(exponent);
        let one_copy = keys * self.get("bytes");
        let memory = one_copy * self.get("copies");
        let seconds = self.get("days") * 86_400.0;
        let per_second = keys * self.get("meetings") * (1.0 - self.get("leaf")).max(0.0) / seconds;
        let slice_bytes = self.get("slice-mib") * f64::from(1 << 20);
        let slices = (one_copy / slice_bytes).ceil().clamp(1.0, MOST_SLICES);
        let batch = self.get("batch");
        let commands = slices * (1.0 - (1.0 - 1.0 / slices).powf(batch)) / batch;
        let per_key = self.get("key-us") + commands * self.get("command-us");
        let processors = per_second * per_key / 1e6;
        let of_memory = memory / (self.get("machine-gb") * 1e9 * self.get("usable"));
        // A copy has all masters or none on a machine, so there are at least as many machines.
        let machines = of_memory
            .max(self.get("copies") * processors / self.get("usable"))
            .max(self.get("copies"))
            .ceil();
        let masters = (machines / self.get("copies")).ceil();
        let messages = per_second / self.get("batch") * masters;
        let slices = (one_copy / slice_bytes).ceil().max(masters);
        let slices = match slices > MOST_SLICES {
            false => format!("{slices:.0}"),
            true => format!(
                "{MOST_SLICES:.0} of {:.0} MiB",
                one_copy / MOST_SLICES / f64::from(1 << 20)
            ),
        };
        let cost = machines * seconds / 3600.0 * self.get("price");
        println!(
            "| 10^{exponent} | {:.1} GB | {per_second:.0} | {:.2} % | {messages:.1} | {machines:.0} | \
             {slices} | {cost:.0} $ | {:.0} $ |",
            memory / 1e9,
            100.0 * processors,
            cost / (keys / 1e9)
        );
        let most = MOST_SLICES * LONGEST_MIB * f64::from(1 << 20) / self.get("bytes");
        if exponent == 11 {
            println!("\nThe largest store: {most:.1e} keys, in 4096 slices of 512 MiB.");
        }
    }
}

fn usage() -> String {
    let all = MEASURED.iter().chain(&ASSUMED);
    let lines = all.map(|it| format!("  --{:<12} {} [{}]", it.name, it.meaning, it.value));
    lines.collect::<Vec<_>>().join("\n")
}
