//! Builds the page: npm packages, type check, bundle.

use std::fs;

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

/// Builds the page into web/dist. The new page replaces the old one when it is complete, because a
/// build of the command line may read it at the same time.
pub fn build() -> Outcome {
    ensure_packages()?;
    wasm::build()?;
    // In a directory that is no source for git or for a test.
    const NEW: &str = "node_modules/.page";
    let web = root().join("web");
    let build = ["run", "--silent", "build", "--", "--outDir", NEW];
    npm("page", &[&build[..], &["--emptyOutDir"]].concat())?;
    let (page, old) = (web.join("dist"), web.join("node_modules/.old-page"));
    let remove_old = || match old.exists() {
        true => fs::remove_dir_all(&old),
        false => Ok(()),
    };
    remove_old()?;
    if page.exists() {
        fs::rename(&page, &old)?;
    }
    fs::rename(web.join(NEW), &page)?;
    Ok(remove_old()?)
}

/// Runs npm in web/.
pub fn npm(what: &str, arguments: &[&str]) -> Outcome {
    let mut npm = command("npm", arguments);
    npm.current_dir(root().join("web"));
    run(what, npm)
}
