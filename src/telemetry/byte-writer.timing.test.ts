import { afterAll, expect, test } from 'bun:test'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-writer-'))

afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('a reader that does not read costs lines, not memory or time', async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      '-e',
      `
    const { ByteWriter } = await import(${JSON.stringify(join(import.meta.dir, 'byte-writer.ts'))})
    const writer = new ByteWriter(1)
    const from = performance.now()
    for (let at = 0; at < 200000; at++) writer.line('x'.repeat(500))
    const spent = performance.now() - from
    await Bun.sleep(100)
    process.stderr.write(JSON.stringify({ dropped: writer.dropped, spent }))
    process.exit(0)
  `,
    ],
    { stdout: 'pipe', stderr: 'pipe' },
  )
  // Its stdout is not read: the pipe is full after 64 KiB.
  const { dropped, spent } = JSON.parse(await new Response(child.stderr).text()) as { dropped: number; spent: number }
  expect(dropped).toBeGreaterThan(150_000)
  expect(spent).toBeLessThan(3000)
})
