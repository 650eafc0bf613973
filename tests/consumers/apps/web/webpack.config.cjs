module.exports = {
  mode: 'production',
  context: __dirname,
  entry: './main.js',
  output: { path: `${__dirname}/dist`, filename: 'main.js', publicPath: 'auto' },
};
