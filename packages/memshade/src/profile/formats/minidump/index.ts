export { isMinidump, readMinidump } from "./read.ts";
