//! `dedupstore filters`: the registry, for people and for programs.

use clap::Args;
use dedupstore::filter::Descriptor;
use dedupstore::{FilterSpec, registry};
use serde_json::json;

use crate::error::Failure;
use crate::output::Output;

/// List the filters: what each promises, when to choose it, its parameters
#[derive(Debug, Args)]
pub struct Arguments {
    /// Only this one
    #[arg(value_name = "NAME")]
    name: Option<FilterSpec>,

    /// Print one object
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: Arguments) -> Result<(), Failure> {
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
        ("works", descriptor.summary),
        ("promises", descriptor.promise),
        ("choose", descriptor.choose_when),
        ("errs", descriptor.errs.in_words()),
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
