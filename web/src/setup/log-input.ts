// The log: chosen, dropped, pasted, or a generated sample.

import type { QueryClient } from '../engine/queries.js';
import { type LogFiles, sizeOf } from '../engine/settings.js';
import { create, find } from '../ui/element.js';
import { InvalidInput } from '../ui/invalid-input.js';
import { formatBytes } from '../ui/number-format.js';
import type { KeySpec } from '../wasm/dedupstore_wasm.js';
import { logNameOf, rotationOrder } from './rotated-logs.js';
import { SAMPLES, type Sample, generateCommand } from './samples.js';

export interface Log {
  /** The name in messages. */
  name: string;
  /** The files, in the order in which they are read. */
  content: LogFiles;
  /** The id of the sample; null if the log is not a sample. */
  sample: string | null;
  /** Null for the most likely key. */
  key: KeySpec | null;
  /** What to do in a shell so that the files are there; null if they are files of the user's. */
  preparation: string | null;
}

/** The file in which commands expect pasted lines. */
const PASTED_FILE = 'pasted-lines.txt';

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
  /** Counts the requests, so that a slow sample does not replace a later log. */
  #lastRequest = 0;

  constructor(queries: QueryClient, listener: LogListener) {
    this.#queries = queries;
    this.#listener = listener;
    this.#file.multiple = true;
    this.#file.addEventListener('change', () => this.useFiles([...(this.#file.files ?? [])]));
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

  /** Whether a log has been chosen. */
  get isChosen(): boolean {
    return this.#log !== undefined;
  }

  /** The id of the sample in use; null if the log is not a sample. */
  get sample(): string | null {
    return this.#log?.sample ?? null;
  }

  /** Returns false if there is no such sample. */
  loadSample(id: string): boolean {
    const sample = SAMPLES.find((sample) => sample.id === id);
    if (sample !== undefined) {
      void this.#loadSample(sample);
    }
    return sample !== undefined;
  }

  #use(log: Log): void {
    this.#lastRequest += 1;
    this.#log = log;
    const names = log.content.map(({ name }) => name).join(', ');
    const size = formatBytes(sizeOf(log.content));
    this.#name.value = log.content.length > 1 ? `${log.name} (${names}), ${size}` : `${log.name}, ${size}`;
    this.#listener.showError('');
    this.#listener.logChanged(log);
  }

  /** Reads several files in order of their rotation. */
  useFiles(files: File[]): void {
    if (files.length > 0) {
      const content = rotationOrder(files.map((file) => ({ name: file.name, content: file })));
      this.#use({ name: logNameOf(content), content, sample: null, key: null, preparation: null });
    }
  }

  #usePasted(): void {
    const text = this.#pasted.value;
    if (text === '') {
      this.#listener.showError('There are no lines to use: paste some first.');
      return;
    }
    this.#use({
      name: 'pasted lines',
      content: [{ name: PASTED_FILE, content: new Blob([text]) }],
      sample: null,
      key: null,
      preparation: `# Save the pasted lines as ${PASTED_FILE}.`,
    });
  }

  async #loadSample(sample: Sample): Promise<void> {
    this.#lastRequest += 1;
    const request = this.#lastRequest;
    try {
      const { log } = await this.#queries.ask({ kind: 'generate', sample: sample.spec });
      if (request !== this.#lastRequest) {
        return;
      }
      const { fileName: name, id, key } = sample;
      const files = [{ name, content: log }];
      this.#use({ name, content: files, sample: id, key: key ?? null, preparation: generateCommand(id) });
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
        this.useFiles([...(event.dataTransfer?.files ?? [])]);
      }
    });
  }
}
