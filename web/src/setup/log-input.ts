// Where the log comes from: chosen, dropped, pasted, or made as a sample.

import { find, make } from './element.js';
import type { Clerk } from './engine.js';
import { InvalidInput } from './invalid-input.js';
import { formatBytes } from './number-format.js';
import { SAMPLES, type Sample } from './samples.js';

export interface Log {
  name: string;
  content: Blob;
  /** The sample that it is, if it is one. */
  sample: string | null;
}

export interface LogListener {
  /** A log has been taken. */
  taken(log: Log): void;
  /** Something was dropped; true if it is no log and was taken. */
  dropped(transfer: DataTransfer | null): boolean;
  /** Something went wrong. */
  complain(message: string): void;
}

export class LogInput {
  readonly #file = find('log-file', HTMLInputElement);
  readonly #drop = find('drop', HTMLElement);
  readonly #name = find('log-name', HTMLOutputElement);
  readonly #pasted = find('paste-text', HTMLTextAreaElement);
  readonly #clerk: Clerk;
  readonly #listener: LogListener;
  #log: Log | undefined;

  constructor(clerk: Clerk, listener: LogListener) {
    this.#clerk = clerk;
    this.#listener = listener;
    this.#file.addEventListener('change', () => this.#takeFiles(this.#file.files));
    find('paste-use', HTMLButtonElement).addEventListener('click', () => this.#takePasted());
    const samples = SAMPLES.map((sample) => {
      const button = make('button', { type: 'button', id: `sample-${sample.id}` }, sample.title);
      button.addEventListener('click', () => this.#loadSample(sample));
      return button;
    });
    find('samples', HTMLElement).append(...samples);
    this.#acceptDrops();
  }

  log(): Log {
    if (this.#log === undefined) {
      throw new InvalidInput('There is no log to run over: choose one, or load a sample.');
    }
    return this.#log;
  }

  /** The sample in use, if it is one. */
  get sample(): string | null {
    return this.#log?.sample ?? null;
  }

  loadSample(id: string): void {
    const sample = SAMPLES.find((sample) => sample.id === id);
    if (sample !== undefined) {
      void this.#loadSample(sample);
    }
  }

  #take(log: Log): void {
    this.#log = log;
    this.#name.value = `${log.name}, ${formatBytes(log.content.size)}`;
    this.#listener.complain('');
    this.#listener.taken(log);
  }

  #takeFiles(files: FileList | null | undefined): void {
    const [file, ...others] = files ?? [];
    if (file !== undefined) {
      this.#take({ name: file.name, content: file, sample: null });
    }
    if (others.length > 0) {
      this.#listener.complain(`One log at a time: only ${file?.name} was taken.`);
    }
  }

  #takePasted(): void {
    const text = this.#pasted.value;
    if (text === '') {
      this.#listener.complain('There is nothing to use: paste lines into the box first.');
      return;
    }
    this.#take({ name: 'pasted lines', content: new Blob([text]), sample: null });
  }

  async #loadSample(sample: Sample): Promise<void> {
    try {
      const { log } = await this.#clerk.ask({ kind: 'sample', sample: sample.spec });
      this.#take({ name: sample.name, content: log, sample: sample.id });
      // The same file may be chosen again after the sample.
      this.#file.value = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#listener.complain(`The sample could not be made: ${reason}`);
    }
  }

  /** A file may be dropped anywhere: beside the box it would replace the page. */
  #acceptDrops(): void {
    const mark = (over: boolean) => this.#drop.classList.toggle('over', over);
    document.addEventListener('dragover', (event) => {
      event.preventDefault();
      mark(true);
    });
    document.addEventListener('dragleave', (event) => {
      // Going from one element to the next is not leaving.
      if (event.relatedTarget === null) {
        mark(false);
      }
    });
    document.addEventListener('drop', (event) => {
      event.preventDefault();
      mark(false);
      if (!this.#listener.dropped(event.dataTransfer)) {
        this.#takeFiles(event.dataTransfer?.files);
      }
    });
  }
}
