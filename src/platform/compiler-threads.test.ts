import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { getPriority } from 'node:os'
import { keepCompilersBehind } from './compiler-threads.ts'

const isLinux = process.platform === 'linux'

/** Priorities of the threads of this name, as they are now. */
function prioritiesOf(name: string): number[] {
  return readdirSync('/proc/self/task').flatMap(thread => {
    try {
      const own = readFileSync(`/proc/self/task/${thread}/comm`, 'latin1').trimEnd()
      return own === name ? [getPriority(Number(thread))] : []
    } catch {
      return []
    }
  })
}

/** Code that is new and called often, so that there is something to compile. */
function busy(): void {
  const sum = new Function('to', 'let sum = 0; for (let at = 0; at < to; at++) sum += at % 7; return sum')
  for (let round = 0; round < 200; round++) sum(2000)
}

test.skipIf(!isLinux)('compilers run behind the other threads, also those that begin later', async () => {
  const mainBefore = getPriority(process.pid)
  const watch = keepCompilersBehind()
  try {
    for (;;) {
      busy()
      const priorities = prioritiesOf('JITWorker')
      if (priorities.length > 0 && priorities.every(one => one === 10)) break
      await Bun.sleep(20)
    }
    expect(getPriority(process.pid)).toBe(mainBefore)
  } finally {
    watch.stop()
  }
})
