//! `dedupstore man`: prints the manual.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgAction, Args, Command, CommandFactory};
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::{Cli, GlobalArguments};
use crate::error::Failure;
use crate::output::Output;

/// Print the manual page, or write one page per command to a directory
///
/// For example: dedupstore man | man -l -
#[derive(Debug, Args)]
pub struct Arguments {
    /// Write dedupstore.1, dedupstore-filter.1 and so on to this directory
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    let mut command = Cli::command().disable_help_subcommand(true);
    command.build();
    if let Some(directory) = arguments.to {
        return write_all(&command, &directory).map_err(|error| Failure::Create {
            path: directory,
            error,
        });
    }
    let mut output = Output::standard()?;
    output.put(&page(&command).map_err(Failure::Output)?)?;
    output.flush()
}

/// Writes the page of a command and of each of its subcommands.
fn write_all(command: &Command, directory: &Path) -> io::Result<()> {
    for subcommand in command.get_subcommands() {
        write_all(subcommand, directory)?;
    }
    let file = Man::new(command.clone()).get_filename();
    fs::write(directory.join(file), page(command)?)
}

/// Renders a page. The text after the options becomes one section per heading, instead of the
/// section EXTRA of clap_mangen.
fn page(command: &Command) -> io::Result<Vec<u8>> {
    let version = command.get_version().unwrap_or_default();
    let man = Man::new(command.clone()).source(format!("dedupstore {version}"));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    page.extend(synopsis(command, &man)?);
    man.render_description_section(&mut page)?;
    man.render_options_section(&mut page)?;
    if command.has_subcommands() {
        man.render_subcommands_section(&mut page)?;
    }
    let after_help = command.get_after_help().map(ToString::to_string);
    sections(&after_help.unwrap_or_default()).to_writer(&mut page)?;
    man.render_version_section(&mut page)?;
    Ok(page)
}

/// Renders the synopsis, with an ellipsis after arguments that can be repeated, which clap_mangen
/// leaves out.
fn synopsis(command: &Command, man: &Man) -> io::Result<Vec<u8>> {
    let mut section = Vec::new();
    man.render_synopsis_section(&mut section)?;
    let mut section = String::from_utf8_lossy(&section).into_owned();
    let repeated = command.get_positionals().filter(|argument| {
        let values = argument.get_num_args();
        values.is_some_and(|values| values.max_values() > 1)
            || matches!(argument.get_action(), ArgAction::Append)
    });
    for name in repeated.filter_map(Arg::get_value_names).flatten() {
        for [open, close] in [["[", "]"], ["<", ">"]] {
            let once = format!("{open}\\fI{name}\\fR{close}");
            section = section.replace(&once, &format!("{once}..."));
        }
    }
    Ok(section.into_bytes())
}

/// Turns a text with headings such as `Examples:` into sections with unfilled lines.
fn sections(text: &str) -> Roff {
    let mut roff = Roff::new();
    for block in text.split("\n\n").filter(|block| !block.is_empty()) {
        let mut lines = block.lines();
        let heading = lines.next().unwrap_or_default().trim_end_matches(':');
        roff.control("SH", [heading.to_uppercase().as_str()]);
        roff.control("nf", []);
        for line in lines {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
    }
    roff
}
