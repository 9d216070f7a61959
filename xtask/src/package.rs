//! Cargo packages: their content, and packages that build on their own.

use std::fs;
use std::path::Path;

use crate::page;
use crate::step::{Outcome, cargo, root, run};

/// The packages that are published, in the order of their dependencies.
const PACKAGES: [&str; 5] = [
    "dedupstore",
    "dedupstore-view",
    "dedupstore-server",
    "dedupstore-cluster",
    "dedupstore-cli",
];
/// Files that a package must contain.
const REQUIRED: [(&str, &[&str]); 5] = [
    (
        "dedupstore",
        &["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"],
    ),
    (
        "dedupstore-view",
        &["LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"],
    ),
    (
        "dedupstore-server",
        &["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"],
    ),
    (
        "dedupstore-cluster",
        &["README.md", "LICENSE-APACHE", "LICENSE-MIT", "src/lib.rs"],
    ),
    (
        "dedupstore-cli",
        &[
            "README.md",
            "LICENSE-APACHE",
            "LICENSE-MIT",
            "build.rs",
            "page/index.html",
            "src/main.rs",
        ],
    ),
];

/// Packages the published crates into target/package, with the built page in the command
/// line, and compiles each package as a user of the registry would.
pub fn build() -> Outcome {
    page::build()?;
    check_content()?;
    let mut package = cargo(&["package", "--allow-dirty"]);
    package.args(PACKAGES.iter().flat_map(|name| ["--package", name]));
    run("packages", package)
}

/// Checks that the packages contain the required files. The page must be built.
pub fn check_content() -> Outcome {
    eprintln!("── content of packages");
    copy_page_into_cli()?;
    for (name, required) in REQUIRED {
        // The copied page is ignored by git, which cargo would report as an uncommitted change.
        let mut list = cargo(&["package", "--list", "--allow-dirty", "--quiet"]);
        list.args(["--package", name]);
        let output = list.output()?;
        if !output.status.success() {
            let error = String::from_utf8_lossy(&output.stderr);
            return Err(format!("content of package {name}: {error}").into());
        }
        let list = String::from_utf8_lossy(&output.stdout).replace('\\', "/");
        for file in required {
            if !list.lines().any(|line| line == *file) {
                return Err(format!("package {name} lacks {file}; it contains:\n{list}").into());
            }
        }
    }
    Ok(())
}

/// Copies web/dist to cli/page: a package can only contain files below its own directory.
fn copy_page_into_cli() -> Outcome {
    let page = root().join("cli/page");
    if page.exists() {
        fs::remove_dir_all(&page)?;
    }
    copy_directory(&root().join("web/dist"), &page)
}

fn copy_directory(from: &Path, to: &Path) -> Outcome {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_directory(&entry.path(), &target)?,
            false => {
                fs::copy(entry.path(), target)?;
            }
        }
    }
    Ok(())
}
