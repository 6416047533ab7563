// What is for web pages shares a file of the package.
export { addBrowserCommand } from "./browser.ts";
export { addInstrumentCommand } from "./instrument.ts";
