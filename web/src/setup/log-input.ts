// The log: chosen, dropped, pasted, or a generated sample.

import type { QueryClient } from '../engine/queries.js';
import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatBytes } from '../ui/number-format.js';
import type { KeySpec } from '../wasm/dedupstore_wasm.js';
import { SAMPLES, type Sample } from './samples.js';

export interface Log {
  name: string;
  content: Blob;
  /** The id of the sample; null if the log is not a sample. */
  sample: string | null;
  /** Null for the most likely key. */
  key: KeySpec | null;
}

export interface LogListener {
  logChanged(log: Log): void;
  /** Called for dropped items; returns true if they are a store, which is not a log. */
  storeDropped(transfer: DataTransfer | null): boolean;
  showError(message: string): void;
}

export class LogInput {
  readonly #file = find('log-file', HTMLInputElement);
  readonly #drop = find('drop', HTMLElement);
  readonly #name = find('log-name', HTMLOutputElement);
  readonly #pasted = find('paste-text', HTMLTextAreaElement);
  readonly #queries: QueryClient;
  readonly #listener: LogListener;
  #log: Log | undefined;

  constructor(queries: QueryClient, listener: LogListener) {
    this.#queries = queries;
    this.#listener = listener;
    this.#file.addEventListener('change', () => this.#useFiles(this.#file.files));
    find('paste-use', HTMLButtonElement).addEventListener('click', () => this.#usePasted());
    const samples = SAMPLES.map((sample) => {
      const button = create('button', { type: 'button', id: `sample-${sample.id}` }, sample.title);
      button.addEventListener('click', () => this.#loadSample(sample));
      return button;
    });
    find('samples', HTMLElement).append(...samples);
    this.#acceptDrops();
  }

  log(): Log {
    if (this.#log === undefined) {
      throw new InvalidInput('There is no log: choose one, or load a sample.');
    }
    return this.#log;
  }

  /** The id of the sample in use; null if the log is not a sample. */
  get sample(): string | null {
    return this.#log?.sample ?? null;
  }

  loadSample(id: string): void {
    const sample = SAMPLES.find((sample) => sample.id === id);
    if (sample !== undefined) {
      void this.#loadSample(sample);
    }
  }

  #use(log: Log): void {
    this.#log = log;
    this.#name.value = `${log.name}, ${formatBytes(log.content.size)}`;
    this.#listener.showError('');
    this.#listener.logChanged(log);
  }

  #useFiles(files: FileList | null | undefined): void {
    const [file, ...others] = files ?? [];
    if (file !== undefined) {
      this.#use({ name: file.name, content: file, sample: null, key: null });
    }
    if (others.length > 0) {
      this.#listener.showError(`Only one log can be used: ${file?.name} was chosen.`);
    }
  }

  #usePasted(): void {
    const text = this.#pasted.value;
    if (text === '') {
      this.#listener.showError('There are no lines to use: paste some first.');
      return;
    }
    this.#use({ name: 'pasted lines', content: new Blob([text]), sample: null, key: null });
  }

  async #loadSample(sample: Sample): Promise<void> {
    try {
      const { log } = await this.#queries.ask({ kind: 'generate', sample: sample.spec });
      const { fileName, id, key } = sample;
      this.#use({ name: fileName, content: log, sample: id, key: key ?? null });
      // Otherwise choosing the same file again would not be noticed.
      this.#file.value = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#listener.showError(`The sample could not be generated: ${reason}`);
    }
  }

  /** Accepts files anywhere: dropped outside the box, a file would replace the page. */
  #acceptDrops(): void {
    const highlight = (isOver: boolean) => this.#drop.classList.toggle('over', isOver);
    document.addEventListener('dragover', (event) => {
      event.preventDefault();
      highlight(true);
    });
    document.addEventListener('dragleave', (event) => {
      // Not when the pointer moves from one element to another.
      if (event.relatedTarget === null) {
        highlight(false);
      }
    });
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      highlight(false);
      if (!this.#listener.storeDropped(event.dataTransfer)) {
        this.#useFiles(event.dataTransfer?.files);
      }
    });
  }
}
