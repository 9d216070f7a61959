// Where the log comes from: a file chosen, a file dropped, or the sample.

import sampleAddress from '../../fixtures/crawl.log?url';
import { find } from './element.js';
import { InvalidInput } from './invalid-input.js';
import { formatBytes } from './number-format.js';

export interface Log {
  name: string;
  content: Blob;
}

export class LogInput {
  readonly #file = find('log-file', HTMLInputElement);
  readonly #drop = find('drop', HTMLElement);
  readonly #name = find('log-name', HTMLOutputElement);
  readonly #complain: (message: string) => void;
  #log: Log | undefined;

  /** `complain` is told what went wrong, or '' when a log has been taken. */
  constructor(complain: (message: string) => void) {
    this.#complain = complain;
    this.#file.addEventListener('change', () => this.#takeFiles(this.#file.files));
    find('load-sample', HTMLButtonElement).addEventListener('click', () => this.#loadSample());
    this.#acceptDrops();
  }

  log(): Log {
    if (this.#log === undefined) {
      throw new InvalidInput('There is no log to run over: choose one, or load the sample.');
    }
    return this.#log;
  }

  #take(log: Log): void {
    this.#log = log;
    this.#name.value = `${log.name}, ${formatBytes(log.content.size)}`;
    this.#complain('');
  }

  #takeFiles(files: FileList | null | undefined): void {
    const [file, ...others] = files ?? [];
    if (file !== undefined) {
      this.#take({ name: file.name, content: file });
    }
    if (others.length > 0) {
      this.#complain(`One log at a time: only ${file?.name} was taken.`);
    }
  }

  async #loadSample(): Promise<void> {
    try {
      const response = await fetch(sampleAddress);
      if (!response.ok) {
        throw new Error(`the server answered ${response.status}`);
      }
      this.#take({ name: 'sample.log', content: await response.blob() });
      // The same file may be chosen again after the sample.
      this.#file.value = '';
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.#complain(`The sample could not be loaded: ${reason}.`);
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
      this.#takeFiles(event.dataTransfer?.files);
    });
  }
}
