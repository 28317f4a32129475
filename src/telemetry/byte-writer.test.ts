import { afterAll, expect, test } from 'bun:test'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ByteWriter } from './byte-writer.ts'

const folder = mkdtempSync(join(tmpdir(), 'modelgate-writer-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

test('lines of any characters arrive whole and in order', async () => {
  const path = join(folder, 'lines')
  const descriptor = openSync(path, 'w')
  const writer = new ByteWriter(descriptor)
  const lines = Array.from({ length: 5000 }, (_, at) => `${at} ${'ä😀'.repeat(at % 40)}`)
  for (let at = 0; at < lines.length; at++) {
    writer.line(lines[at]!)
    if (at % 500 === 0) await Bun.sleep(1)
    // A slow machine has not written the first buffer when the second is full: then lines are dropped, as they should
    // be.
    if (at % 1500 === 1499) await writer.drain(5000)
  }
  await writer.drain(5000)
  closeSync(descriptor)
  expect(writer.dropped).toBe(0)
  expect(readFileSync(path, 'utf8').split('\n').slice(0, -1)).toEqual(lines)
})

test('a reader that is gone costs lines, and every one of them is counted', async () => {
  const child = Bun.spawn(
    [
      process.execPath,
      '-e',
      `
    const { ByteWriter } = await import(${JSON.stringify(join(import.meta.dir, 'byte-writer.ts'))})
    const writer = new ByteWriter(1)
    writer.line('first')
    await writer.drain(1000)
    await new Response(Bun.stdin).text()
    const before = writer.dropped
    for (let at = 0; at < 10; at++) writer.line('lost ' + at)
    await writer.drain(1000)
    for (let at = 0; at < 5; at++) writer.line('lost again ' + at)
    await writer.drain(1000)
    process.stderr.write(JSON.stringify([before, writer.dropped]))
    process.exit(0)
  `,
    ],
    { stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' },
  )
  const reader = child.stdout.getReader()
  expect(new TextDecoder().decode((await reader.read()).value)).toBe('first\n')
  await reader.cancel()
  await child.stdin.end()
  expect(await new Response(child.stderr).text()).toBe('[0,15]')
})
