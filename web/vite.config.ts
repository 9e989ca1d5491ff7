import { readFileSync } from 'node:fs';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** Return the address of the stack that `make up` started, if it is running. */
function localStack(): string | undefined {
  try {
    const stack = JSON.parse(readFileSync(new URL('../.tessera/stack.json', import.meta.url), 'utf8')) as {
      page_url: string;
    };
    return stack.page_url;
  } catch {
    return undefined;
  }
}

/** ms that tests wait for something to appear. CI runs them next to others on two cores, where the default, one second,
 * is too short to render a page. */
const PATIENCE = 5000;

const stack = localStack();

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: {
    port: 5173, // the address that Cognito of a development installation allows: cdk/auth/stack.py
    strictPort: true,
    ...(stack ? { proxy: { '/api': stack, '/config.json': stack } } : {}),
  },
  build: {
    assetsInlineLimit: 0, // the policy allows data: for images only
    modulePreload: { polyfill: false }, // browsers without it are older than the build's target
    chunkSizeWarningLimit: 400,
  },
  test: {
    environment: 'jsdom',
    provide: { patience: PATIENCE },
    setupFiles: ['src/testing/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}', 'tools/*.test.js'],
    restoreMocks: true,
    expect: { poll: { timeout: PATIENCE } },
    testTimeout: 6 * PATIENCE, // one test waits several times
  },
});
