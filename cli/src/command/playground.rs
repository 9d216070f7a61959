//! `dedupstore playground`: serves the page, which is part of the binary, on this machine.

use std::net::{Ipv4Addr, TcpListener};
use std::sync::Arc;

use clap::Args;

use crate::cli::GlobalArguments;
use crate::error::Failure;
use crate::http_content::File;
use crate::http_server::HttpServer;
use crate::output::Output;

/// Serve the page that compares filters on your own log, on this machine only
///
/// Prints the address of the page. Nothing is uploaded: the page runs the same engine in the
/// browser.
#[derive(Debug, Args)]
pub struct Arguments {
    /// The port [default: a free one]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
}

/// The files of the page; empty if it was not built before this binary.
const PAGE: &[File] = include!(concat!(env!("OUT_DIR"), "/page.rs"));

pub fn run(arguments: Arguments, _global: &GlobalArguments) -> Result<(), Failure> {
    if PAGE.is_empty() {
        return Err(Failure::Usage(
            "this program was built without the page; run `cargo xtask playground` in the source \
             directory: it builds the page and serves it"
                .to_owned(),
        ));
    }
    let failed = |error| {
        Failure::Usage(format!(
            "cannot listen on 127.0.0.1:{}: {error}; choose another port with --port",
            arguments.port
        ))
    };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, arguments.port)).map_err(failed)?;
    let port = listener.local_addr().map_err(failed)?.port();
    let mut output = Output::standard()?;
    output.text(&format!("http://127.0.0.1:{port}/\n"))?;
    output.flush()?;
    Arc::new(HttpServer::new(PAGE, port)).serve(&listener);
    Ok(())
}
