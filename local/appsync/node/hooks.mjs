// The import that AppSync provides, and the module format that it assumes: the resolver files stay as AWS runs them.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

const PROVIDED = new URL('./provided.mjs', import.meta.url).href;

export async function resolve(specifier, context, next) {
  if (specifier === '@aws-appsync/utils') {
    return { url: PROVIDED, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  if (url.startsWith('file:') && url.endsWith('.js')) {
    return { format: 'module', shortCircuit: true, source: await readFile(fileURLToPath(url), 'utf8') };
  }
  return next(url, context);
}
