// The part of fflate that is used. The build bundles it into this file, so that the package has no dependency.
export { Inflate, zipSync, zlibSync } from 'fflate';
