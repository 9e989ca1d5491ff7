import '@testing-library/jest-dom/vitest';
import { cleanup } from '@testing-library/react';
import { afterEach, beforeEach, vi } from 'vitest';

// What jsdom does not have.
window.matchMedia = (media: string) =>
  Object.assign(new EventTarget(), { matches: false, media, onchange: null }) as unknown as MediaQueryList;
window.scrollTo = () => undefined;

beforeEach(() => {
  // A warning of React is a fault of ours.
  vi.spyOn(console, 'error').mockImplementation((...told: unknown[]) => {
    throw new Error(told.map(String).join(' '));
  });
});

afterEach(() => {
  cleanup();
  sessionStorage.clear();
  localStorage.clear();
});
