//! The Python package: its virtual environment, its tests, its wheel.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::step::{Outcome, cargo, command, root, run, target_directory};

/// The oldest supported version of Python, and the newest that is looked for.
const VERSIONS: std::ops::RangeInclusive<u32> = 11..=15;

/// Creates the virtual environment with the pinned packages, unless it exists. Downloads them from
/// the package index.
pub fn prepare() -> Outcome {
    if cfg!(windows) {
        return Ok(());
    }
    let (lock, installed) = (lock_file(), environment().join("requirements.lock"));
    let is_current =
        fs::read(&installed).is_ok_and(|it| fs::read(&lock).is_ok_and(|lock| it == lock));
    if is_current && sources().join("tests/test_dupefilters.py").exists() {
        return Ok(());
    }
    let python = interpreters().into_iter().next().ok_or(
        "no Python 3.11 or newer was found; install one, for example with `apt install python3-venv`",
    )?;
    if environment().exists() {
        fs::remove_dir_all(environment())?;
    }
    let mut create = Command::new(python);
    create.args(["-m", "venv"]).arg(environment());
    run("Python environment", create)?;
    let mut install = pip(&["install", "--require-hashes", "--requirement"]);
    install.arg(&lock);
    run("Python packages", install)?;
    fetch_scrapy_sources(&lock)?;
    // Last, so that an environment that was interrupted is made again.
    fs::copy(lock, installed)?;
    Ok(())
}

/// Fetches the source distribution of Scrapy, whose own tests our duplicate filter must pass. Its
/// hash is in the lock file.
fn fetch_scrapy_sources(lock: &Path) -> Outcome {
    let directory = environment().join("sources");
    fs::create_dir_all(&directory)?;
    let text = fs::read_to_string(lock)?;
    let pinned = requirement(&text, "scrapy").ok_or("the lock file has no scrapy")?;
    let only = directory.join("scrapy.lock");
    fs::write(&only, pinned)?;
    let mut download = pip(&["download", "--quiet", "--no-deps", "--require-hashes"]);
    // Building its metadata needs hatchling, which the lock file has.
    download.args(["--no-binary", ":all:", "--no-build-isolation", "--dest"]);
    download.arg(&directory).arg("--requirement").arg(&only);
    run("sources of Scrapy", download)?;
    let mut unpack = Command::new("tar");
    unpack.arg("xzf").arg(file_in(&directory, ".tar.gz")?);
    unpack.args(["--strip-components=1", "-C"]).arg(&directory);
    run("sources of Scrapy unpacked", unpack)
}

/// Returns the lines of a package in a lock file.
fn requirement(lock: &str, name: &str) -> Option<String> {
    let start = lock
        .lines()
        .position(|line| line.starts_with(&format!("{name}==")))?;
    let lines = lock.lines().skip(start);
    let of_package = |(at, line): &(usize, &str)| *at == 0 || line.starts_with("    --hash");
    let lines = lines.enumerate().take_while(of_package);
    let text: String = lines.map(|(_, line)| format!("{line}\n")).collect();
    // The last hash may be followed by a comment, so it has no continuation.
    Some(text.trim_end().trim_end_matches('\\').to_owned() + "\n")
}

/// Builds the wheel as the native tests are built, tries it on every Python that is present, and
/// runs the tests of the package.
pub fn test() -> Outcome {
    if cfg!(windows) {
        eprintln!("── Python package: not tested on Windows, where it is not supported");
        return Ok(());
    }
    let wheels = environment().join("wheels");
    let wheel = build_wheel(&["--profile", "dev"], &wheels)?;
    try_on_every_version(&wheel)?;
    install(&wheel)?;
    pytest("Python tests", &["-m", "not campaign"])
}

/// Builds the command line, which tests of `Store.connect` serve stores with, and runs the tests.
pub fn build_and_test() -> Outcome {
    crate::redis_clients::ensure_server()?;
    prepare()?;
    let build = cargo(&["build", "--quiet", "--package", "dedupstore-cli"]);
    run("command line", build)?;
    test()
}

/// Runs 20 kills against crawls of 3,000 pages, in the release build.
pub fn scrapy_campaign() -> Outcome {
    prepare()?;
    install(&build_wheel(&["--release"], &environment().join("wheels"))?)?;
    pytest("campaign of kills", &["-m", "campaign"])
}

/// Measures the package against other sets, in the release build.
pub fn bench() -> Outcome {
    prepare()?;
    install(&build_wheel(&["--release"], &environment().join("wheels"))?)?;
    for name in ["observe", "scrapy_overhead", "ray_actors"] {
        let script = root().join("python/benches").join(format!("{name}.py"));
        let mut measure = Command::new(python());
        measure
            .arg(script)
            .current_dir(root().join("python/benches"));
        run(name, measure)?;
    }
    Ok(())
}

/// Builds a release wheel and a source distribution in target/wheels, and tries each in a clean
/// environment.
pub fn wheel() -> Outcome {
    prepare()?;
    let directory = target_directory().join("wheels");
    let wheel = build_wheel(&["--release"], &directory)?;
    try_on_every_version(&wheel)?;
    let mut sdist = maturin(&["sdist", "--out"]);
    sdist.arg(&directory);
    run("source distribution", sdist)?;
    let sdist = file_in(&directory, ".tar.gz")?;
    for package in [&wheel, &sdist] {
        let clean = target_directory().join("python-clean");
        if clean.exists() {
            fs::remove_dir_all(&clean)?;
        }
        let mut create = Command::new(python());
        create.args(["-m", "venv"]).arg(&clean);
        run("clean environment", create)?;
        let mut install = Command::new(clean.join("bin/pip"));
        install.args(["install", "--quiet"]).arg(package);
        run("installation of the package", install)?;
        let mut smoke = Command::new(clean.join("bin/python"));
        smoke.arg(root().join("python/tests/smoke.py"));
        run("package in a clean environment", smoke)?;
    }
    eprintln!("{}\n{}", wheel.display(), sdist.display());
    Ok(())
}

fn build_wheel(profile: &[&str], directory: &Path) -> Outcome<PathBuf> {
    if directory.exists() {
        fs::remove_dir_all(directory)?;
    }
    let mut build = maturin(&["build", "--quiet", "--locked", "--interpreter"]);
    build
        .arg(python())
        .args(profile)
        .arg("--out")
        .arg(directory);
    run("Python wheel", build)?;
    file_in(directory, ".whl")
}

fn file_in(directory: &Path, suffix: &str) -> Outcome<PathBuf> {
    let files = fs::read_dir(directory)?
        .filter_map(Result::ok)
        .map(|it| it.path());
    let mut found = files.filter(|path| path.to_string_lossy().ends_with(suffix));
    let found = found.next();
    Ok(found.ok_or_else(|| format!("{} has no {suffix}", directory.display()))?)
}

/// Installs the wheel without its optional dependencies into the environment.
fn install(wheel: &Path) -> Outcome {
    let mut install = pip(&["install", "--quiet", "--no-deps", "--force-reinstall"]);
    install.arg(wheel);
    run("installation of the wheel", install)
}

/// One wheel serves all versions of Python, so it must work on those that are present.
fn try_on_every_version(wheel: &Path) -> Outcome {
    let site = environment().join("unpacked");
    if site.exists() {
        fs::remove_dir_all(&site)?;
    }
    let mut unpack = pip(&["install", "--quiet", "--no-deps", "--target"]);
    unpack.arg(&site).arg(wheel);
    run("wheel unpacked", unpack)?;
    for python in interpreters() {
        let mut smoke = Command::new(&python);
        smoke
            .arg(root().join("python/tests/smoke.py"))
            .env("PYTHONPATH", &site);
        run(&format!("wheel on {}", python.display()), smoke)?;
    }
    Ok(())
}

fn pytest(what: &str, options: &[&str]) -> Outcome {
    // Neither `python -m pytest` nor the directory of the sources: both, and the workers that Ray
    // starts there, would find the sources first, which have no compiled module.
    let mut tests = Command::new(environment().join("bin/pytest"));
    tests.arg("--quiet").args(options);
    tests.current_dir(root().join("python/tests"));
    tests.env("SCRAPY_SOURCES", sources());
    // A server for `Store.connect`.
    tests.env("DEDUPSTORE", target_directory().join("debug/dedupstore"));
    run(what, tests)
}

/// Returns the interpreters that are present, one per supported version, the oldest first: those on
/// the path, and those of pyenv, whose commands on the path work only for its chosen version.
fn interpreters() -> Vec<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let mut places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".pyenv"));
    if let Some(pyenv) = std::env::var_os("PYENV_ROOT").map(PathBuf::from).or(home) {
        let versions = fs::read_dir(pyenv.join("versions")).into_iter().flatten();
        places.extend(
            versions
                .filter_map(Result::ok)
                .map(|it| it.path().join("bin")),
        );
    }
    let runs = |program: &PathBuf| {
        let probe = Command::new(program)
            .args(["-c", "import venv, ctypes"])
            .output();
        probe.is_ok_and(|output| output.status.success())
    };
    let of_version = |minor: u32| {
        let programs = places
            .iter()
            .map(|place| place.join(format!("python3.{minor}")));
        programs.filter(|program| program.exists()).find(runs)
    };
    VERSIONS.filter_map(of_version).collect()
}

fn environment() -> PathBuf {
    target_directory().join("python")
}

fn sources() -> PathBuf {
    environment().join("sources")
}

fn lock_file() -> PathBuf {
    root().join("python/requirements.lock")
}

fn python() -> PathBuf {
    environment().join("bin/python")
}

fn pip(arguments: &[&str]) -> Command {
    let mut pip = Command::new(python());
    pip.args(["-m", "pip", "--disable-pip-version-check", "--quiet"])
        .args(arguments);
    pip
}

/// Returns maturin, which runs the cargo that runs this program.
fn maturin(arguments: &[&str]) -> Command {
    let mut maturin = command(
        &environment().join("bin/maturin").to_string_lossy(),
        arguments,
    );
    maturin.current_dir(root().join("python"));
    maturin.env("VIRTUAL_ENV", environment());
    maturin
}
