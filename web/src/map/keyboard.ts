// Keyboard access to the points of the map: left and right change the memory, up and down
// change the filter, Enter pins the point.

import type { MapListener, MapPoint } from './chart.js';

export class MapKeyboard {
  readonly #chart: HTMLElement;
  readonly #listener: MapListener;
  #points: MapPoint[] = [];
  #current: number | undefined;

  constructor(chart: HTMLElement, listener: MapListener) {
    this.#chart = chart;
    this.#listener = listener;
    chart.addEventListener('keydown', (event) => this.#handle(event));
    chart.addEventListener('focus', () => this.#goTo(this.#current ?? 0));
    chart.addEventListener('blur', () => {
      this.#mark(undefined);
      listener.pointed(null);
    });
  }

  /** Sets the points, in the order in which they are drawn. */
  setPoints(points: MapPoint[]): void {
    this.#points = points;
    this.#current = undefined;
    this.#chart.tabIndex = points.length > 0 ? 0 : -1;
  }

  #handle(event: KeyboardEvent): void {
    const point = this.#points[this.#current ?? -1];
    if (point === undefined || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (event.key === 'Enter' || event.key === ' ') {
      this.#listener.chosen(point);
    } else {
      const next = this.#next(point, event.key);
      if (next === undefined) {
        return;
      }
      this.#goTo(this.#points.indexOf(next));
    }
    event.preventDefault();
  }

  #next(from: MapPoint, key: string): MapPoint | undefined {
    const sameFilter = this.#points.filter(({ filterIndex }) => filterIndex === from.filterIndex);
    const sameMemory = this.#points.filter(({ memoryIndex }) => memoryIndex === from.memoryIndex);
    const neighbour = (row: MapPoint[], step: number) => row[row.indexOf(from) + step] ?? from;
    switch (key) {
      case 'ArrowLeft':
        return neighbour(sameFilter, -1);
      case 'ArrowRight':
        return neighbour(sameFilter, 1);
      case 'ArrowUp':
        return neighbour(sameMemory, -1);
      case 'ArrowDown':
        return neighbour(sameMemory, 1);
      case 'Home':
        return sameFilter[0];
      case 'End':
        return sameFilter.at(-1);
    }
    return undefined;
  }

  #goTo(index: number): void {
    const point = this.#points[index];
    if (point !== undefined) {
      this.#current = index;
      this.#mark(index);
      this.#listener.pointed(point);
    }
  }

  #mark(current: number | undefined): void {
    for (const dot of this.#chart.querySelectorAll('.map-point')) {
      dot.classList.toggle('current', dot.getAttribute('data-index') === String(current));
    }
  }
}
