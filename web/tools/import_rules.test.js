import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { cruise } from 'dependency-cruiser';
import { afterEach, describe, expect, it } from 'vitest';
import config from '../import_rules.js';

const folders = [];

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
});

/** Return the names of the rules that a page of these files breaks. */
async function brokenRules(files) {
  const baseDir = mkdtempSync(join(tmpdir(), 'import-rules-'));
  folders.push(baseDir);
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(baseDir, path)), { recursive: true });
    writeFileSync(join(baseDir, path), text);
  }
  const { tsPreCompilationDeps, enhancedResolveOptions } = config.options;
  const options = { baseDir, tsPreCompilationDeps, ruleSet: { forbidden: config.forbidden }, validate: true };
  const { output } = await cruise(['src'], options, enhancedResolveOptions);
  return [...new Set(output.summary.violations.map(({ rule }) => rule.name))];
}

describe('the rules for imports', () => {
  it.each([
    ['a value', "import { b } from './b';\nexport const a = b;"],
    ['a type alone', "import type { B } from './b';\nexport type A = B;"],
  ])('find a circle that is closed by %s', async (_, closing) => {
    const files = { 'src/a.ts': closing, 'src/b.ts': "export * from './c';", 'src/c.ts': "import './a';\nexport type B = 1;\nexport const b = 1;" };
    expect(await brokenRules(files)).toEqual(['no-circles']);
  });

  it.each([
    ['features-do-not-meet', 'src/features/jobs/list/a.ts', "import '../../viewer/b';", 'src/features/viewer/b.ts'],
    ['api-is-lowest', 'src/api/a.ts', "import '../ui/b';", 'src/ui/b.ts'],
    ['controls-know-no-page', 'src/ui/fields/a.ts', "import '../../session/b';", 'src/session/b.ts'],
  ])('find what breaks %s', async (rule, path, text, imported) => {
    expect(await brokenRules({ [path]: text, [imported]: 'export {};' })).toEqual([rule]);
  });

  it('allow a feature its own folders, and what lies below it', async () => {
    const files = { 'src/features/jobs/list/a.ts': "import '../b';\nimport '../../../ui/c';", 'src/features/jobs/b.ts': 'export {};', 'src/ui/c.ts': 'export {};' };
    expect(await brokenRules(files)).toEqual([]);
  });
});
