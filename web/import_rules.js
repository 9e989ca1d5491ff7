/** Which module may import which, types included: `npm run check:imports` (dependency-cruiser). */

/** @type {import('dependency-cruiser').IConfiguration} */
export default {
  forbidden: [
    {
      name: 'no-circles',
      comment: 'A module can be read with what lies below it alone.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'features-do-not-meet',
      comment: 'Features meet by address and query key.',
      severity: 'error',
      from: { path: '^src/features/([^/]+)/' },
      to: { path: '^src/features/', pathNot: '^src/features/$1/' },
    },
    {
      name: 'api-is-lowest',
      comment: 'The client of the API knows nothing of the page.',
      severity: 'error',
      from: { path: '^src/api/', pathNot: '[.]test[.]tsx?$' },
      to: { path: '^src/', pathNot: '^src/api/' },
    },
    {
      name: 'controls-know-no-page',
      comment: 'What all pages are made of imports none of them.',
      severity: 'error',
      from: { path: '^src/ui/', pathNot: '[.]test[.]tsx?$' },
      to: { path: '^src/', pathNot: '^src/(ui|api)/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true, // an import of types alone is one too
    enhancedResolveOptions: { extensions: ['.ts', '.tsx', '.js', '.css'] },
  },
};
