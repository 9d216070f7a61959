//! Stores on the page: built from a log for download, and inspected.
//!
//! Without the feature `stores` the bindings are the same, and the constructors fail.

#[cfg(not(feature = "stores"))]
mod absent;
#[cfg(feature = "stores")]
mod builder;
#[cfg(feature = "stores")]
mod inspector;
#[cfg(feature = "stores")]
mod partial_files;

#[cfg(not(feature = "stores"))]
use absent::{Builder, Inspector};
#[cfg(feature = "stores")]
use builder::Builder;
#[cfg(feature = "stores")]
use inspector::Inspector;

use serde::Serialize;
use tsify::{Ts, Tsify};
use wasm_bindgen::prelude::*;

use crate::js_error;
use crate::key_choice::{KeyChoice, KeySpec};

/// Builds a store that has observed a log.
#[wasm_bindgen]
pub struct StoreBuilder(Builder);

/// A file of a store.
#[derive(Serialize, Tsify)]
pub struct StoreFileSize {
    /// The file name.
    pub name: &'static str,
    /// The size of the file.
    pub bytes: u64,
}

/// The place of some bytes in a store's file.
#[derive(Clone, Copy, Serialize, Tsify)]
pub struct StorePart {
    /// The file name.
    pub file: &'static str,
    /// The position of the bytes in the file.
    pub offset: u64,
}

#[wasm_bindgen]
impl StoreBuilder {
    /// Starts a store like that of `dedupstore create` with this filter, memory, seed and
    /// key. The error is a sentence for the page's user.
    #[wasm_bindgen(constructor)]
    pub fn new(
        filter: &str,
        memory_bits: f64,
        seed: f64,
        key: Ts<KeySpec>,
    ) -> Result<StoreBuilder, JsError> {
        let key = KeyChoice::new(&key.to_rust()?).map_err(js_error)?;
        let builder = Builder::new(filter, memory_bits as u64, seed as u64, &key);
        builder.map(StoreBuilder).map_err(js_error)
    }

    /// Observes the next bytes of the log.
    pub fn feed(&mut self, chunk: &[u8]) -> Result<(), JsError> {
        self.0.feed(chunk).map_err(js_error)
    }

    /// Ends the log and completes the store. `storeId` is 16 random bytes; the time is in
    /// seconds since 1970.
    pub fn finish(&mut self, store_id: &[u8], unix_seconds: f64) -> Result<(), JsError> {
        let finished = self.0.finish(store_id, unix_seconds as u64);
        finished.map_err(js_error)
    }

    /// Lists the store's files.
    pub fn files(&self) -> Result<Vec<Ts<StoreFileSize>>, JsError> {
        let files = self.0.files().into_iter();
        files.map(|file| Ok(file.into_ts()?)).collect()
    }

    /// Moves on to the next bytes that are not zeros of any file of the completed store;
    /// returns undefined after the last. The parts of a file come in any order.
    #[wasm_bindgen(js_name = nextPart)]
    pub fn next_part(&mut self) -> Result<Option<Ts<StorePart>>, JsError> {
        let part = self.0.next_part().map_err(js_error)?;
        Ok(part.map(|part| part.into_ts()).transpose()?)
    }

    /// Returns the bytes of the current part, once.
    #[wasm_bindgen(js_name = takePartBytes)]
    pub fn take_part_bytes(&mut self) -> Vec<u8> {
        self.0.take_part_bytes()
    }
}

/// Inspects a store whose files the page has. It asks for the bytes that it needs.
#[wasm_bindgen]
pub struct StoreInspector(Inspector);

/// Bytes of a file that the inspector needs.
#[derive(Clone, Copy, Serialize, Tsify)]
pub struct MissingBytes {
    /// The file name.
    pub file: &'static str,
    /// The position of the first byte.
    pub offset: u64,
    /// The number of bytes. More is allowed.
    pub length: usize,
}

#[wasm_bindgen]
impl StoreInspector {
    /// Starts the inspection of a store. The time is in seconds since 1970.
    #[wasm_bindgen(constructor)]
    pub fn new(name: &str, unix_seconds: f64) -> Result<StoreInspector, JsError> {
        let inspector = Inspector::new(name, unix_seconds as u64);
        inspector.map(StoreInspector).map_err(js_error)
    }

    /// Adds a file of the store's directory.
    #[wasm_bindgen(js_name = addFile)]
    pub fn add_file(&mut self, name: &str, bytes: f64) {
        self.0.add_file(name, bytes as u64);
    }

    /// Returns the report of `dedupstore inspect`, or fails with its error. Undefined if
    /// bytes are missing.
    pub fn report(&mut self) -> Result<Option<String>, JsError> {
        self.0.report().map_err(js_error)
    }

    /// The bytes that `report` needs; undefined if it needs none.
    #[wasm_bindgen(getter, js_name = missingBytes)]
    pub fn missing_bytes(&self) -> Result<Option<Ts<MissingBytes>>, JsError> {
        let missing = self.0.missing_bytes();
        Ok(missing.map(|it| it.into_ts()).transpose()?)
    }

    /// Supplies the missing bytes.
    pub fn supply(&mut self, bytes: &[u8]) {
        self.0.supply(bytes);
    }
}
