/** Whether a machine counts as loaded: by what others do, never by what is measured. */
import { expect, test } from 'bun:test'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { MachineLoad } from './machine-load.ts'

const hasProcesses = existsSync('/proc/self/stat')
if (!hasProcesses) console.log('skipped: load of the machine (needs /proc)')
const cores = availableParallelism()
/** As many as there are cores at once: what others in the suite have to wait for. */
const loopMs = 1000
const loop = (ms: number) => `const untilMs = Date.now() + ${ms}; while (Date.now() < untilMs);`
const start = (...words: string[]) => Bun.spawn([process.execPath, ...words])
/** What it says of this process while `during` runs, of `own` and what that started. */
async function shareOf(own: Bun.Subprocess, during: Promise<unknown>): Promise<number> {
  const load = new MachineLoad(own.pid)
  await during
  return load.end(0)
}

test.skipIf(!hasProcesses)('what others do counts, what is measured and outlives its parent does not', async () => {
  const all = Array.from({ length: cores }, () => start('-e', loop(loopMs / 2)))
  const asOthers = await shareOf(start('-e', 'setTimeout(() => {}, 100)'), Promise.all(all.map(one => one.exited)))
  expect(asOthers).toBeGreaterThan(0.5)
  // The parent ends before the loops, which no process waits for.
  const parent = `
    for (let at = 0; at < ${cores}; at++)
      Bun.spawn([process.execPath, '-e', ${JSON.stringify(loop(loopMs))}], { detached: true, stdio: ['ignore', 'ignore', 'ignore'] }).unref()
    setTimeout(() => process.exit(0), 600)`
  const asOwn = await shareOf(start('-e', parent), Bun.sleep(loopMs + 200))
  expect(asOwn).toBeLessThan(asOthers)
})
