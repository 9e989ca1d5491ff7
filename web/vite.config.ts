import { readFileSync } from 'node:fs';
import tailwindcss from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

/** Where the stack that `make up` left running answers; none while nothing runs. */
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

const stack = localStack();

export default defineConfig({
  plugins: [react(), tailwindcss()],
  server: {
    port: 5173, // what Cognito of a development installation lets in: cdk/auth/stack.py
    strictPort: true,
    ...(stack ? { proxy: { '/api': stack, '/config.json': stack } } : {}),
  },
  build: {
    assetsInlineLimit: 0, // the policy allows data: for images only
    modulePreload: { polyfill: false }, // browsers that lack it are older than what the build targets
    chunkSizeWarningLimit: 400,
  },
  test: {
    environment: 'jsdom',
    setupFiles: ['src/testing/setup.ts'],
    include: ['src/**/*.test.{ts,tsx}'],
    restoreMocks: true,
    testTimeout: 20_000, // ms; one test waits several times
  },
});
