import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterEach, beforeEach, expect, vi } from 'vitest';

// CI runs the page's tests next to others on two cores, where a second, the default, is too short to draw a page.
configure({ asyncUtilTimeout: 5000 });

// What jsdom does not have.
window.matchMedia = (media: string) =>
  Object.assign(new EventTarget(), { matches: false, media, onchange: null }) as unknown as MediaQueryList;
window.scrollTo = () => undefined;
URL.createObjectURL = () => 'blob:thumbnail';
URL.revokeObjectURL = () => undefined;
window.IntersectionObserver = class implements IntersectionObserver {
  readonly root = null;
  readonly rootMargin = '';
  readonly scrollMargin = '';
  readonly thresholds = [];
  constructor(private readonly told: IntersectionObserverCallback) {}
  observe(target: Element) {
    this.told([{ isIntersecting: true, target } as IntersectionObserverEntry], this); // all is in view
  }
  unobserve() {}
  disconnect() {}
  takeRecords() {
    return [];
  }
};
HTMLDialogElement.prototype.showModal = function () {
  this.open = true;
};
HTMLDialogElement.prototype.close = function () {
  this.open = false;
};

/** A warning of React is a fault of ours. */
let complaints: string[] = [];

beforeEach(() => {
  complaints = [];
  vi.spyOn(console, 'error').mockImplementation((...told: unknown[]) => {
    complaints.push(told.map(String).join(' '));
  });
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  localStorage.clear();
  expect(complaints).toEqual([]);
});
