import resolve from '@rollup/plugin-node-resolve';

export default {
  input: ['main.js', 'job.js'],
  plugins: [resolve()],
  output: { dir: 'dist', format: 'es' },
};
