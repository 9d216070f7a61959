// Properties of the log: counts, how soon keys come back, and the most frequent keys.

import type { Snapshot } from '../engine/run-protocol.js';
import { keysPerSampledKey } from '../setup/log-part-input.js';
import { create, find } from '../ui/element.js';
import { formatCount, formatShare, formatShortCount } from '../ui/number-format.js';
import type { StreamProfile } from '../wasm/dedupstore_wasm.js';
import { LinesOverTimeView } from './lines-over-time.js';

export class ProfileView {
  readonly #section = find('profile', HTMLElement);
  readonly #facts = find('profile-facts', HTMLElement);
  readonly #gaps = find('gaps', HTMLTableElement);
  readonly #gapsNote = find('gaps-note', HTMLElement);
  readonly #top = find('top-keys', HTMLTableElement);
  readonly #topNote = find('top-note', HTMLElement);
  readonly #linesOverTime = new LinesOverTimeView();

  show(snapshot: Snapshot): void {
    this.#section.hidden = false;
    this.#showFacts(snapshot);
    this.#showGaps(snapshot.profile, keysPerSampledKey(snapshot.part));
    this.#linesOverTime.show(snapshot.lineProfile.linesOverTime);
    this.#showTop(snapshot);
  }

  clear(): void {
    this.#section.hidden = true;
  }

  #showFacts({ profile, lineProfile, part }: Snapshot): void {
    const { count, distinct } = profile;
    const { linesRead, linesWithoutKey } = lineProfile;
    const isSample = keysPerSampledKey(part) > 1;
    this.#facts.replaceChildren(
      fact('Lines', formatCount(count)),
      ...(isSample ? [fact('Lines read', formatCount(linesRead))] : []),
      fact('Distinct keys', formatCount(distinct)),
      fact('Repeats', formatShare(count > 0 ? (count - distinct) / count : null)),
      ...(linesWithoutKey > 0 ? [fact('Without a key', formatCount(linesWithoutKey))] : []),
    );
  }

  /** In a sample of one key in `factor`, a gap is 1/`factor` of the gap in the log. */
  #showGaps({ gaps, gapsSampledOneIn }: StreamProfile, factor: number): void {
    const largest = Math.max(...gaps.map(({ count }) => count), 1);
    const total = gaps.reduce((sum, { count }) => sum + count, 0);
    const rows = gaps.map(({ from: sampledFrom, count }) => {
      const from = sampledFrom * factor;
      const range =
        from === 1 ? '1' : `${formatShortCount(from)} to ${formatShortCount(2 * from - 1)}`;
      const bar = create('div', { class: 'gap-bar', 'aria-hidden': 'true' });
      bar.style.width = `${(100 * count) / largest}%`;
      return create(
        'tr',
        {},
        create('th', { scope: 'row' }, range),
        create('td', { class: 'bar' }, bar),
        create('td', {}, formatShare(total > 0 ? count / total : null)),
      );
    });
    this.#gaps.tBodies[0]?.replaceChildren(...rows);
    this.#gapsNote.textContent = gapsNote(total, gapsSampledOneIn * factor, factor);
  }

  #showTop({ profile, lineProfile }: Snapshot): void {
    const { topKeys, topKeysError } = lineProfile;
    // A count that may be too low by more than itself says nothing.
    const known = topKeys.filter(({ count }) => count >= topKeysError);
    const rows = known.map(({ key, count }) =>
      create(
        'tr',
        {},
        create('th', { scope: 'row' }, create('code', {}, key === '' ? '(empty)' : key)),
        create('td', {}, formatCount(count)),
        create('td', {}, formatShare(profile.count > 0 ? count / profile.count : null)),
      ),
    );
    this.#top.tBodies[0]?.replaceChildren(...rows);
    this.#topNote.textContent =
      topKeysError > 0
        ? `Counted in bounded memory: counts may be too low by up to ${formatCount(topKeysError)}.`
        : '';
  }
}

function gapsNote(repeats: number, oneKeyIn: number, factor: number): string {
  if (repeats === 0) {
    return 'No key comes twice.';
  }
  if (oneKeyIn === 1) {
    return '';
  }
  const shorter = factor > 1 ? ' Shorter gaps are counted in the first row.' : '';
  return `Estimated from one key in ${formatCount(oneKeyIn)}.${shorter}`;
}

function fact(term: string, value: string): HTMLElement {
  return create('div', {}, create('dt', {}, term), create('dd', {}, value));
}
