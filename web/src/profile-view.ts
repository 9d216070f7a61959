// What the log is like: counts, how far back repeats lie, the most frequent keys.

import { find, make } from './element.js';
import { formatCount, formatShare, formatShortCount } from './number-format.js';
import type { ProfileData, Snapshot } from './protocol.js';
import { RateView } from './rate-view.js';

export class ProfileView {
  readonly #section = find('profile', HTMLElement);
  readonly #facts = find('profile-facts', HTMLElement);
  readonly #gaps = find('gaps', HTMLTableElement);
  readonly #gapsNote = find('gaps-note', HTMLElement);
  readonly #top = find('top-keys', HTMLTableElement);
  readonly #rate = new RateView();
  readonly #topNote = find('top-note', HTMLElement);

  show({ profile, part }: Snapshot): void {
    this.#section.hidden = false;
    const repeats = profile.count - profile.distinct;
    this.#facts.replaceChildren(
      ...fact('Lines', formatCount(profile.count)),
      ...(part.kind === 'keys' ? fact('of lines read', formatCount(profile.read)) : []),
      ...fact('Distinct keys', formatCount(profile.distinct)),
      ...fact('Repeats', formatShare(profile.count > 0 ? repeats / profile.count : null)),
      ...(profile.withoutKey > 0 ? fact('Without a key', formatCount(profile.withoutKey)) : []),
    );
    this.#showGaps(profile, part.kind === 'keys' ? part.oneIn : 1);
    this.#rate.show(profile.rate);
    this.#showTop(profile);
  }

  clear(): void {
    this.#section.hidden = true;
  }

  /** Of one key in so many, a repeat lies that many times as far back in the log. */
  #showGaps({ gaps, gapsSampledOneIn }: ProfileData, times: number): void {
    const most = Math.max(...gaps.map(({ count }) => count), 1);
    const all = gaps.reduce((sum, { count }) => sum + count, 0);
    const rows = gaps.map(({ from: start, count }) => {
      const from = start * times;
      const range = from === 1 ? '1' : `${formatShortCount(from)} to ${formatShortCount(2 * from - 1)}`;
      const bar = make('meter', { min: '0', max: String(most), value: String(count) });
      bar.setAttribute('aria-hidden', 'true');
      return make(
        'tr',
        {},
        make('th', { scope: 'row' }, range),
        make('td', { class: 'bar' }, bar),
        make('td', {}, formatShare(all > 0 ? count / all : null)),
      );
    });
    this.#gaps.tBodies[0]?.replaceChildren(...rows);
    const oneIn = formatCount(gapsSampledOneIn * times);
    const nearer = times > 1 ? ` What lies nearer than ${times} lines shows there.` : '';
    const estimated = gapsSampledOneIn * times > 1 ? `Estimated from one key in ${oneIn}.` : '';
    this.#gapsNote.textContent = all === 0 ? 'No key came twice.' : estimated + nearer;
  }

  #showTop({ top, topTooLow, count: lines }: ProfileData): void {
    const rows = top.map(({ key, count }) =>
      make(
        'tr',
        {},
        make('th', { scope: 'row' }, make('code', {}, key === '' ? '(empty)' : key)),
        make('td', {}, formatCount(count)),
        make('td', {}, formatShare(lines > 0 ? count / lines : null)),
      ),
    );
    this.#top.tBodies[0]?.replaceChildren(...rows);
    this.#topNote.textContent =
      topTooLow > 0 ? `Counted in bounded memory: at most ${formatCount(topTooLow)} too low.` : '';
  }
}

function fact(term: string, value: string): HTMLElement[] {
  return [make('div', {}, make('dt', {}, term), make('dd', {}, value))];
}
