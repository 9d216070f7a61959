//! Stores on the page: made from a log to be taken home, and looked into.
//!
//! An engine without the feature has the same bindings, and refuses.

#[cfg(not(feature = "stores"))]
mod absent;
#[cfg(feature = "stores")]
mod look;
#[cfg(feature = "stores")]
mod partial_files;
#[cfg(feature = "stores")]
mod primer;

#[cfg(not(feature = "stores"))]
use absent::{Look, Primer};
#[cfg(feature = "stores")]
use look::Look;
#[cfg(feature = "stores")]
use primer::Primer;

use wasm_bindgen::prelude::*;

use crate::key::KeyChoice;

/// Bytes of a file that are wanted.
#[derive(Clone, Copy)]
struct Wanted {
    file: &'static str,
    offset: u64,
    length: usize,
}

fn refused(message: String) -> JsError {
    JsError::new(&message)
}

/// A store that has met a log.
#[wasm_bindgen]
pub struct StorePrimer(Primer);

/// Bytes of a store's file.
#[wasm_bindgen]
pub struct StorePart {
    file: &'static str,
    offset: u64,
    bytes: Vec<u8>,
}

#[wasm_bindgen]
impl StorePrimer {
    /// What `dedupstore create` makes with this filter, memory and seed, and whatever
    /// normalization the key has; it has met nothing yet. Fails with a sentence for people.
    #[wasm_bindgen(constructor)]
    pub fn new(
        filter: &str,
        memory_bits: f64,
        seed: f64,
        key: &KeyChoice,
    ) -> Result<StorePrimer, JsError> {
        let made = Primer::new(filter, memory_bits as u64, seed as u64, key);
        made.map(StorePrimer).map_err(refused)
    }

    /// The next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        self.0.feed(chunk).map_err(refused)
    }

    /// The log has ended, and the store is there. Its identity, of 16 bytes, is to be random;
    /// the time is in seconds since 1970.
    pub fn finish(&mut self, store_id: &[u8], unix_seconds: f64) -> Result<(), JsError> {
        let finished = self.0.finish(store_id, unix_seconds as u64);
        finished.map_err(refused)
    }

    /// The names of its files.
    #[wasm_bindgen(getter, js_name = fileNames)]
    pub fn file_names(&self) -> Vec<String> {
        let files = self.0.files().into_iter();
        files.map(|(name, _)| name.to_owned()).collect()
    }

    /// The sizes of its files, in the same order.
    #[wasm_bindgen(getter, js_name = fileBytes)]
    pub fn file_bytes(&self) -> Vec<f64> {
        let files = self.0.files().into_iter();
        files.map(|(_, bytes)| bytes as f64).collect()
    }

    /// The next bytes of any file that are not zeros, once it is finished; nothing when there
    /// are no more. Those of one file come in any order.
    #[wasm_bindgen(js_name = nextPart)]
    pub fn next_part(&mut self) -> Result<Option<StorePart>, JsError> {
        self.0.next_part().map_err(refused)
    }
}

#[wasm_bindgen]
impl StorePart {
    /// Which file.
    #[wasm_bindgen(getter)]
    pub fn file(&self) -> String {
        self.file.to_owned()
    }

    /// Where in it.
    #[wasm_bindgen(getter)]
    pub fn offset(&self) -> f64 {
        self.offset as f64
    }

    /// What is there.
    #[wasm_bindgen(getter)]
    pub fn bytes(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}

/// A look into a store whose files the page has: it asks for what it needs of them.
#[wasm_bindgen]
pub struct StoreLook(Look);

#[wasm_bindgen]
impl StoreLook {
    /// At the store of a name; the time is in seconds since 1970.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, unix_seconds: f64) -> Result<StoreLook, JsError> {
        let look = Look::new(name, unix_seconds as u64);
        look.map(StoreLook).map_err(refused)
    }

    /// There is a file of this name and size in its directory.
    pub fn add(&mut self, name: &str, bytes: f64) {
        self.0.add(name, bytes as u64);
    }

    /// What `dedupstore inspect` prints of it, or fails with; nothing as long as some bytes are
    /// wanted.
    pub fn report(&mut self) -> Result<Option<String>, JsError> {
        self.0.report().map_err(refused)
    }

    /// The file of which bytes are wanted.
    #[wasm_bindgen(getter, js_name = wantedFile)]
    pub fn wanted_file(&self) -> Option<String> {
        self.0.wanted().map(|wanted| wanted.file.to_owned())
    }

    /// From where on.
    #[wasm_bindgen(getter, js_name = wantedOffset)]
    pub fn wanted_offset(&self) -> f64 {
        self.0.wanted().map_or(0.0, |wanted| wanted.offset as f64)
    }

    /// How many at the least.
    #[wasm_bindgen(getter, js_name = wantedLength)]
    pub fn wanted_length(&self) -> f64 {
        self.0.wanted().map_or(0.0, |wanted| wanted.length as f64)
    }

    /// Here they are.
    pub fn supply(&mut self, bytes: &[u8]) {
        self.0.supply(bytes);
    }
}
