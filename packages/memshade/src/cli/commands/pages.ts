// Entry of the built file with the commands for web pages.
export { addBrowserCommand } from "./browser.ts";
export { addInstrumentCommand } from "./instrument.ts";
