// The inner loop of reading line tables.
export {
  hasDiscriminators,
  highestAddress,
  highestFile,
  lineAddresses,
  lineColumns,
  lineCount,
  lineDiscriminators,
  lineFiles,
  lineNumbers,
  runLineProgram,
  sequenceCount,
  sequences,
} from "./line-program";
export { begin, isDeclined, reserve } from "./memory";
