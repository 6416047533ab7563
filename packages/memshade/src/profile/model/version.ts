/** Version of the package, written into every profile. A test holds it equal to package.json. */
export const MEMSHADE_VERSION = "0.1.0";
