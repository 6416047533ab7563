export { isElfCore, readElfCore } from "./read.ts";
