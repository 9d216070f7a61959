//! `dedupstore playground`: the page, from this binary, for this machine alone.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use clap::Args;

use crate::error::Failure;
use crate::output::Output;
use crate::responder::{File, Responder};

/// Serve the page that compares filters on your own log, on this machine only
///
/// Prints its address. Nothing is uploaded: the page computes in the browser, with the engine
/// of this command line.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

/// The built page, as it was when this binary was.
const PAGE: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

pub fn run(arguments: Arguments) -> Result<(), Failure> {
    if PAGE.is_empty() {
        return Err(Failure::Usage(
            "this binary was built without the page; build both: cargo xtask page && cargo build --release"
                .to_owned(),
        ));
    }
    let failed = |error| {
        Failure::Usage(format!(
            "cannot listen on 127.0.0.1:{}: {error}; choose another --port",
            arguments.port
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let mut output = Output::standard()?;
    output.text(&format!("http://127.0.0.1:{port}/\n"))?;
    output.flush()?;
    Arc::new(Responder::new(PAGE, port)).serve(&listener);
    Ok(())
}
