export default {
  headers: () => [
    {
      source: '/:path*',
      headers: [
        { key: 'Cross-Origin-Opener-Policy', value: 'same-origin' },
        { key: 'Cross-Origin-Embedder-Policy', value: 'require-corp' },
      ],
    },
  ],
  // The server takes the library from node_modules as it is.
  serverExternalPackages: ['omnigrad'],
};
