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
        // The page's policy has no 'unsafe-inline': adapters/settings/page_policy.py.
        { selector: 'JSXAttribute[name.name="style"] > Literal', message: 'Use a class: the policy refuses inline styles.' },
        { selector: 'JSXAttribute[name.name="dangerouslySetInnerHTML"]', message: 'Do not build markup from strings.' },
      ],
      'no-console': 'error',
    },
  },
  { files: ['**/*.js'], extends: [tseslint.configs.disableTypeChecked] },
  { files: ['tools/*.js'], rules: { 'no-console': 'off' }, languageOptions: { globals: { process: 'readonly', console: 'readonly', URL: 'readonly' } } },
);
