import js from '@eslint/js';
import jsxA11y from 'eslint-plugin-jsx-a11y';
import reactHooks from 'eslint-plugin-react-hooks';
import { defineConfig, globalIgnores } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  globalIgnores(['dist', 'src/api/generated']),
  js.configs.recommended,
  tseslint.configs.strictTypeChecked,
  reactHooks.configs.flat['recommended-latest'],
  jsxA11y.flatConfigs.strict,
  {
    languageOptions: {
      parserOptions: { projectService: { allowDefaultProject: ['*.js', 'tools/*.js'] }, tsconfigRootDir: import.meta.dirname },
    },
    settings: { 'jsx-a11y': { components: { Button: 'button' } } },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/consistent-type-imports': 'error',
      'no-restricted-syntax': [
        'error',
        // The policy of the page has no 'unsafe-inline': cdk/web/security_headers.py.
        { selector: 'JSXAttribute[name.name="style"] > Literal', message: 'Use a class: the policy refuses inline styles.' },
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Markup is never made of strings here.' },
      ],
      'no-console': 'error',
    },
  },
  {
    files: ['src/features/*/*.{ts,tsx}'],
    rules: {
      'no-restricted-imports': [
        'error',
        { patterns: [{ regex: String.raw`^\.\./(?!\.\.)`, message: 'Features meet by address and query key, not by import.' }] },
      ],
    },
  },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['tools/*.js'], rules: { 'no-console': 'off' }, languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } } },
);
