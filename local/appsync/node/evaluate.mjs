// Runs resolver functions: one JSON line in ({id, file, handler, ctx}), one out ({id, result, filter} or {id, error}).
// Resolvers are synchronous (APPSYNC_JS has no promises), so what one sets is read before the next begins.
import { register } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

register('./hooks.mjs', import.meta.url);
const { takeFilter } = await import('@aws-appsync/utils');
const modules = new Map();

async function load(file) {
  if (!modules.has(file)) {
    modules.set(file, await import(pathToFileURL(file)));
  }
  return modules.get(file);
}

async function evaluate({ id, file, handler, ctx }) {
  try {
    const resolver = await load(file);
    takeFilter();
    const result = resolver[handler](ctx) ?? null;
    return { id, result, filter: takeFilter() };
  } catch (error) {
    return { id, error: { type: error.type ?? 'Code', message: String(error.message) } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await evaluate(JSON.parse(line)))}\n`);
}
