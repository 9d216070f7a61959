//! Puts the built page into the binary, if it has been built.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let web = here.join("../web");
    let page = web.join("dist");
    let mut list = String::from("&[\n");
    if page.join("index.html").is_file() {
        println!("cargo::rerun-if-changed={}", page.display());
        let page = page.canonicalize()?;
        for path in files(&page)? {
            let name = path.strip_prefix(&page).unwrap_or(&path);
            let name = name.to_string_lossy().replace('\\', "/");
            list += &format!(
                "    ({name:?}, include_bytes!({:?})),\n",
                path.display().to_string()
            );
        }
    } else if web.is_dir() {
        // For a path that is not there we would be run every time; where it will be, is enough.
        println!("cargo::rerun-if-changed={}", web.display());
    } else {
        println!("cargo::rerun-if-changed=build.rs");
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("page.rs"), list)
}

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
