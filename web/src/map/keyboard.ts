// The points of the map by keyboard: left and right go from memory to memory, up and down
// from filter to filter, Enter pins.

import type { MapListener, MapPoint } from './map-chart.js';

export class MapKeys {
  readonly #chart: HTMLElement;
  readonly #listener: MapListener;
  #points: MapPoint[] = [];
  #at: number | undefined;

  constructor(chart: HTMLElement, listener: MapListener) {
    this.#chart = chart;
    this.#listener = listener;
    chart.addEventListener('keydown', (event) => this.#press(event));
    chart.addEventListener('focus', () => this.#go(this.#at ?? 0));
    chart.addEventListener('blur', () => {
      this.#mark(undefined);
      listener.pointed(null);
    });
  }

  /** The points that are drawn, in their order; nothing to go to without any. */
  show(points: MapPoint[]): void {
    this.#points = points;
    this.#at = undefined;
    this.#chart.tabIndex = points.length > 0 ? 0 : -1;
  }

  #press(event: KeyboardEvent): void {
    const point = this.#points[this.#at ?? -1];
    if (point === undefined || event.ctrlKey || event.altKey || event.metaKey) {
      return;
    }
    if (event.key === 'Enter' || event.key === ' ') {
      this.#listener.picked(point);
    } else {
      const next = this.#next(point, event.key);
      if (next === undefined) {
        return;
      }
      this.#go(this.#points.indexOf(next));
    }
    event.preventDefault();
  }

  #next(from: MapPoint, key: string): MapPoint | undefined {
    const sameFilter = this.#points.filter(({ place }) => place === from.place);
    const sameMemory = this.#points.filter(({ radius }) => radius === from.radius);
    const beside = (row: MapPoint[], by: number) => row[row.indexOf(from) + by] ?? from;
    switch (key) {
      case 'ArrowLeft':
        return beside(sameFilter, -1);
      case 'ArrowRight':
        return beside(sameFilter, 1);
      case 'ArrowUp':
        return beside(sameMemory, -1);
      case 'ArrowDown':
        return beside(sameMemory, 1);
      case 'Home':
        return sameFilter[0];
      case 'End':
        return sameFilter.at(-1);
    }
    return undefined;
  }

  #go(index: number): void {
    const point = this.#points[index];
    if (point !== undefined) {
      this.#at = index;
      this.#mark(index);
      this.#listener.pointed(point);
    }
  }

  #mark(index: number | undefined): void {
    this.#chart.querySelectorAll('.map-point').forEach((dot, place) => {
      dot.classList.toggle('reached', place === index);
    });
  }
}
