/** Which test files take turns in a process, and which have one of their own. */

/**
 * In a process: loading the program takes half a second of a processor, and a browser two. With more, the last group
 * runs on beside no other.
 */
const filesTogetherMax = 16

/**
 * What only a process as a whole has: a file that names one of them changes it for those behind it, or reads what they
 * left.
 */
const ofTheProcess = [
  /\bprocess\.env\.\w+ = /,
  /\bdelete process\.env\b/,
  /\bObject\.assign\(process\.env\b/,
  /\bprocess\.(on|once|off|emit|exit|chdir)\(/,
  /\bprocess\.kill\(process\.pid\b/,
  /\bprocess\.(memoryUsage|cpuUsage|resourceUsage)\b/,
  /\bglobalThis\.\w+ = /,
  /\bObject\.assign\(globalThis\b/,
  /\b(heapStats|setSystemTime|spyOn)\(/,
  /\b(mock\.module|instrument|plugin)\(/,
  /\bBun\.gc\(/,
  /\/proc\/self\b/,
]

/** `text`: of the test file. */
const needsProcess = (text: string): boolean => ofTheProcess.some(word => word.test(text))

/**
 * Files of a room lean on the same parts of the program, and often on the same helpers. Most of those that measure are
 * over in less time than a process takes to begin, and share more.
 */
const roomOf = (file: string): string =>
  file
    .split('/')
    .slice(0, /\.timing\.test\.ts$/.test(file) ? 1 : 2)
    .join('/')

/**
 * Groups of files, each for one process, in the order of their first files. Those of a room are dealt out like cards,
 * so that where the largest stand first, each group has one of them. `textOf`: of a file.
 */
export function groupsOf(files: readonly string[], textOf: (file: string) => string): string[][] {
  const rooms = Map.groupBy(files, file => (needsProcess(textOf(file)) ? file : roomOf(file)))
  return [...rooms.values()].flatMap(inRoom => {
    const count = Math.ceil(inRoom.length / filesTogetherMax)
    return Array.from({ length: count }, (_, first) => inRoom.filter((_, at) => at % count === first))
  })
}
