//! Embeds the built page in the binary, if it has been built. Of a file with a compressed copy,
//! only the copy is embedded.
//!
//! In the repository the page is in web/dist. A cargo package contains a copy in page/, because a
//! package has only files of its own directory.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let web = package.join("../web");
    let candidates = [web.join("dist"), package.join("page")];
    let page = candidates
        .iter()
        .find(|page| page.join("index.html").is_file());
    // Cargo would run this script on every build for a path that does not exist, so it watches
    // the directory in which the page will appear.
    let watched = match page {
        Some(page) => page,
        None if web.is_dir() => &web,
        None => &package,
    };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", watched.display());
    let mut list = String::from("&[\n");
    if let Some(page) = page {
        let page = page.canonicalize()?;
        for path in files(&page)? {
            let name = path.strip_prefix(&page).unwrap_or(&path);
            let name = name.to_string_lossy().replace('\\', "/");
            let copy = PathBuf::from(format!("{}.gz", path.display()));
            let is_gzip = copy.is_file();
            let path = if is_gzip { copy } else { path }.display().to_string();
            list += &format!(
                "    File {{ name: {name:?}, bytes: include_bytes!({path:?}), is_gzip: {is_gzip} }},\n"
            );
        }
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), list)
}

/// Returns all files below a directory, sorted, without compressed copies.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false if path.extension().is_some_and(|it| it == "gz") => {}
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}
