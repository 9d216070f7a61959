//! `dedupstore filters`: lists the filters.

use clap::Args;
use dedupstore::filter::Descriptor;
use dedupstore::{FilterSpec, registry};
use serde_json::json;

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::output::Output;

/// List the filters: what each guarantees, when to choose it, its parameters
#[derive(Debug, Args)]
pub struct Arguments {
    /// Show only this filter
    #[arg(value_name = "NAME")]
    name: Option<FilterSpec>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    let chosen = |descriptor: &&&Descriptor| match &arguments.name {
        Some(spec) => spec.descriptor().name == descriptor.name,
        None => true,
    };
    let filters: Vec<&Descriptor> = registry().iter().filter(chosen).copied().collect();
    let mut output = Output::standard()?;
    if arguments.json {
        output.text(&json!({"schema": 1, "filters": filters}).to_string())?;
        output.text("\n")?;
    } else {
        let pages: Vec<String> = filters.into_iter().map(page).collect();
        output.text(&pages.join("\n"))?;
    }
    output.flush()
}

fn page(descriptor: &Descriptor) -> String {
    let source = &descriptor.source;
    let mut page = format!("{}  {}\n", descriptor.name, descriptor.title);
    for (label, text) in [
        ("summary", descriptor.summary),
        ("guarantee", descriptor.promise),
        ("choose if", descriptor.choose_when),
        ("errors", descriptor.errors.in_words()),
    ] {
        page += &format!("  {label:<9} {text}\n");
    }
    page += &format!("  {:<9} {}, {}\n", "source", source.authors, source.year);
    for parameter in descriptor.parameters {
        page += &format!(
            "  {:<9} {}: {} [default: {}]\n",
            parameter.name,
            parameter.meaning,
            parameter.kind.allowed(),
            parameter.kind.default_value(),
        );
    }
    page
}
