// The part of fast-png that is used. The build bundles it into this file, so that the package has no dependency.
export { convertIndexedToRgb, decode, encode } from 'fast-png';
