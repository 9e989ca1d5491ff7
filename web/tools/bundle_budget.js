// Checks that everything a browser may have to fetch of the page takes at most 350 kB gzipped.
import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const BUDGET = 350_000; // bytes
const COMPRESSED = /\.(js|css|html|svg|json)$/;

const folder = new URL('../dist/', import.meta.url);
const sizes = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => {
    const bytes = readFileSync(`${entry.parentPath}/${entry.name}`);
    return { name: entry.name, size: COMPRESSED.test(entry.name) ? gzipSync(bytes).length : bytes.length };
  })
  .sort((one, other) => other.size - one.size);
const total = sizes.reduce((sum, { size }) => sum + size, 0);

console.log(`bundle: ${(total / 1000).toFixed(1)} kB gzip of ${BUDGET / 1000}`);
if (total > BUDGET) {
  for (const { name, size } of sizes) console.error(`${(size / 1000).toFixed(1).padStart(8)} kB  ${name}`);
  process.exit(1);
}
