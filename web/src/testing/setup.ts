import '@testing-library/jest-dom/vitest';
import { cleanup, configure } from '@testing-library/react';
import { afterEach, beforeEach, expect, inject, vi } from 'vitest';

declare module 'vitest' {
  interface ProvidedContext {
    patience: number; // ms
  }
}

configure({ asyncUtilTimeout: inject('patience') }); // vite.config.ts says why

// Browser features that jsdom lacks.
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
  constructor(private readonly callback: IntersectionObserverCallback) {}
  observe(target: Element) {
    this.callback([{ isIntersecting: true, target } as IntersectionObserverEntry], this); // everything is in view
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

/** A warning from React fails the test. */
let warnings: string[] = [];

beforeEach(() => {
  warnings = [];
  vi.spyOn(console, 'error').mockImplementation((...words: unknown[]) => {
    warnings.push(words.map(String).join(' '));
  });
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  localStorage.clear();
  expect(warnings).toEqual([]);
});
