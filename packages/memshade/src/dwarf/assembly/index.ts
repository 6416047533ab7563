// The inner loops of reading DWARF.
export { setAbbreviations } from "./abbreviations";
export {
  intervalCount,
  intervalEnds,
  intervalStarts,
  intervalValues,
  valueAtWanted,
  wantAll,
  wantOne,
} from "./interval-map";
export {
  findLine,
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
export { begin, clear, isUnusual, keep, reserve } from "./memory";
export { setAddresses, setBases, setNewLists, setOldLists, setWork } from "./ranges";
export { names, readSubroutines, rowCount, rows, starts } from "./subroutines";
export { beginScan, keepScanned, scanUnits, unitAround, unitCount, unitPairCount, unitPairs, units } from "./unit-scan";
export { setEncoding } from "./values";
