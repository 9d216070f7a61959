//! Embeds the built page in the binary, if it has been built.
//!
//! In the repository the page is in web/dist. A cargo package contains a copy in page/, because a
//! package has only files of its own directory. The files are copied first: `cargo xtask test` may
//! replace web/dist while the command is compiled.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{env, fs, io, thread};

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
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let copies = out.join("page");
    fs::create_dir_all(&copies)?;
    let files = page.map_or(Ok(Vec::new()), |page| read(page))?;
    let mut list = String::from("&[\n");
    for (number, (name, content)) in files.iter().enumerate() {
        let copy = copies.join(number.to_string());
        fs::write(&copy, content)?;
        let copy = copy.display().to_string();
        list += &format!("    ({name:?}, include_bytes!({copy:?})),\n");
    }
    list += "]\n";
    fs::write(out.join("page.rs"), list)
}

/// The name of a file, and its content.
type File = (String, Vec<u8>);

/// Reads a page. If it is replaced meanwhile, reads the new one.
fn read(page: &Path) -> io::Result<Vec<File>> {
    let mut before = read_once(page);
    for _ in 0..20 {
        let after = read_once(page);
        match (before, after) {
            (Ok(before), Ok(after)) if before == after => return Ok(after),
            (_, after) => before = after,
        }
        thread::sleep(Duration::from_millis(50));
    }
    before
}

fn read_once(page: &Path) -> io::Result<Vec<File>> {
    let named = |path: PathBuf| {
        let name = path.strip_prefix(page).unwrap_or(&path);
        let name = name.to_string_lossy().replace('\\', "/");
        Ok((name, fs::read(&path)?))
    };
    files(page)?.into_iter().map(named).collect()
}

/// Returns all files below a directory, sorted.
fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        match path.is_dir() {
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort();
    Ok(found)
}
