//! Builds the page: npm packages, type check, bundle.

use crate::step::{Outcome, command, exists, root, run};
use crate::wasm;

/// Installs the npm packages of the lock file if it is newer than the installed ones.
pub fn ensure_packages() -> Outcome {
    if !exists("npm") {
        return Err(
            "the page needs npm, which was not found: install Node.js 20 or newer and run this again".into(),
        );
    }
    let web = root().join("web");
    let lock = web.join("package-lock.json");
    let installed = web.join("node_modules/.package-lock.json");
    let modified = |path: &std::path::Path| path.metadata().and_then(|m| m.modified()).ok();
    if modified(&installed) > modified(&lock) {
        return Ok(());
    }
    let mut npm = command("npm", &["ci", "--no-audit", "--no-fund"]);
    npm.current_dir(web);
    run("npm packages", npm)
}

/// Builds the page into web/dist.
pub fn build() -> Outcome {
    ensure_packages()?;
    wasm::build()?;
    npm("page", &["run", "--silent", "build"])
}

/// Runs npm in web/.
pub fn npm(what: &str, arguments: &[&str]) -> Outcome {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    run(what, npm)
}
