// Strict where types are known; and no arithmetic whose bits differ between engines: training must give the same
// losses everywhere, so such values come from the core.
import globals from 'globals';
import tseslint from 'typescript-eslint';

const inexact = [
  ...[
    'sin',
    'cos',
    'tan',
    'asin',
    'acos',
    'atan',
    'atan2',
    'sinh',
    'cosh',
    'tanh',
    'asinh',
    'acosh',
    'atanh',
  ],
  ...['exp', 'expm1', 'log', 'log1p', 'log2', 'log10', 'pow', 'cbrt', 'hypot'],
];
const message = 'Its bits differ between engines. Take it from the core (math), or multiply.';

export default tseslint.config(
  {
    ignores: ['build/', 'dist/', 'node_modules/', 'web/assets/', 'web/src/*.generated.ts', 'wasm/*.js'],
  },
  {
    files: ['web/**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: { parserOptions: { project: 'tests/types/tsconfig.json' } },
    rules: {
      '@typescript-eslint/consistent-type-definitions': 'off',
      '@typescript-eslint/no-unnecessary-type-parameters': 'off',
      // `as T` where an index is known to be good: `!` is forbidden.
      '@typescript-eslint/non-nullable-type-assertion-style': 'off',
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  {
    files: ['web/**/*.{ts,js,mjs}'],
    rules: {
      'no-restricted-properties': [
        'error',
        ...inexact.map((property) => ({ object: 'Math', property, message })),
      ],
      'no-restricted-syntax': [
        'error',
        { selector: "BinaryExpression[operator='**']", message },
        { selector: "AssignmentExpression[operator='**=']", message },
      ],
    },
  },
  {
    files: ['**/*.{js,mjs}'],
    // A test's functions may be a page's.
    languageOptions: { globals: { ...globals.nodeBuiltin, ...globals.browser } },
    rules: {
      eqeqeq: 'error',
      'no-undef': 'error',
      'no-unused-vars': 'error',
      'no-var': 'error',
      'prefer-const': 'error',
    },
  },
);
