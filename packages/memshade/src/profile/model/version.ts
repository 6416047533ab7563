/** Version of the package, written into every profile. A test checks that it equals package.json. */
export const MEMSHADE_VERSION = "0.1.0";
