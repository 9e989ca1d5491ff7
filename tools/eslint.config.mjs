// The resolvers run in AppSync's own JavaScript, which has no exceptions, no promises and few globals:
// https://docs.aws.amazon.com/appsync/latest/devguide/resolver-util-reference-js.html
import { createRequire } from 'node:module';

const installed = createRequire(new URL('../.tools/', import.meta.url));
const appsync = installed('@aws-appsync/eslint-plugin');

export default [
  { files: ['**/*.js'], ...appsync.configs.base },
  {
    files: ['**/*.js'],
    languageOptions: { globals: { console: 'readonly' } },
    rules: {
      'no-undef': 'error',
      'no-unused-vars': ['error', { args: 'none' }],
      'no-restricted-syntax': ['error', 'ThrowStatement'],
    },
  },
];
