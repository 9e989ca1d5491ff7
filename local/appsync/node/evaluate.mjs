// Runs resolver functions: one JSON line in ({id, file, handler, ctx}), one out ({id, error}, or {id, result} with what
// the resolver said to the extensions: filter, invalidationFilter, invalidations). Resolvers are synchronous (APPSYNC_JS
// has no promises), so what one says is read before the next begins.
import { register } from 'node:module';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';

register('./hooks.mjs', import.meta.url);
const { begin, takeSaid } = await import('@aws-appsync/utils');
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
    begin(handler);
    const result = resolver[handler](ctx) ?? null;
    return { id, result, ...takeSaid() };
  } catch (error) {
    return { id, error: { type: error.type ?? 'Code', message: String(error.message) } };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write(`${JSON.stringify(await evaluate(JSON.parse(line)))}\n`);
}
