/** Upper bounds of time of files that are read. */
import { expect, test } from 'bun:test'
import { join } from 'node:path'

test('a file that fills the memory is given up before its time is over', async () => {
  const beganMs = performance.now()
  const child = Bun.spawn([process.execPath, join(import.meta.dir, 'file-memory-child.ts')], { stderr: 'inherit' })
  const read: unknown = JSON.parse(await new Response(child.stdout).text())
  expect(read).toEqual([{ unreadable: expect.stringContaining('too much memory') }])
  expect(performance.now() - beganMs).toBeLessThan(30_000)
})
