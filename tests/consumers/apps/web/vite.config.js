import omnigrad from 'omnigrad/vite';

export default { base: './', plugins: [omnigrad()] };
