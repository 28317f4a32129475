/** The pages of the running program itself: Bun is a file of 100 MB, of which starting touches far more than serving. */
import { dlopen } from 'bun:ffi'
import { readFileSync, readlinkSync } from 'node:fs'

/** glibc's name, and musl's on the two processors that Bun is built for. */
const libcNames = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']
/** `MADV_DONTNEED` of madvise(2). */
const dontNeed = 4

interface Mapping {
  readonly address: number
  readonly bytes: number
}

type MemoryAdvice = (address: number, bytes: number, advice: number) => number

let advise: MemoryAdvice | undefined

/**
 * Takes the program's code and constants out of the memory of this process; what is needed again comes back page
 * by page from the system's file cache, about half a millisecond for all that a call runs through. Returns the
 * bytes that were resident; 0 where this cannot be done (not Linux, an unknown C library).
 */
export function releaseProgramPages(): number {
  if (process.platform !== 'linux') return 0
  try {
    advise ??= openAdvice()
    const before = residentBytes()
    for (const { address, bytes } of unchangedMappings()) advise(address, bytes, dontNeed)
    return Math.max(before - residentBytes(), 0)
  } catch {
    return 0
  }
}

function openAdvice(): MemoryAdvice {
  for (const name of libcNames)
    try {
      return dlopen(name, { madvise: { args: ['u64', 'u64', 'i32'], returns: 'i32' } }).symbols.madvise as MemoryAdvice
    } catch {
      // Another C library.
    }
  throw new Error('no C library is known here')
}

function residentBytes(): number {
  return Number(/^RssFile:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]) * 1024
}

/**
 * Those that cannot be written and never were: every page is what the file holds. What the loader or the runtime
 * wrote into (relocations, frozen settings) counts as anonymous, and giving it up would lose it.
 */
function unchangedMappings(): Mapping[] {
  const program = readlinkSync('/proc/self/exe')
  const found: Mapping[] = []
  for (const text of readFileSync('/proc/self/smaps', 'utf8').split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m)) {
    const [, from, to, path] = /^([0-9a-f]+)-([0-9a-f]+) r-[x-]p \S+ \S+ \S+ +(.*)$/m.exec(text) ?? []
    if (path === program && /^Anonymous: +0 kB$/m.test(text))
      found.push({ address: parseInt(from!, 16), bytes: parseInt(to!, 16) - parseInt(from!, 16) })
  }
  return found
}
