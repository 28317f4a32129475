/** Usage errors of `modelgate simulate`: one line that names the flag and the remedy. */
import { expect, test } from 'bun:test'
import { startSimulator } from '../../simulator/index.ts'
import { gatewayProgram } from '../../tests/support/gateway-process.ts'

async function run(...words: string[]) {
  const child = Bun.spawn([process.execPath, gatewayProgram, 'simulate', ...words], {
    stdout: 'pipe',
    stderr: 'pipe',
    timeout: 8000,
  })
  const [out, error, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ])
  expect([out, error.trim().split('\n').length]).toEqual(['', 1])
  return { error, code }
}

test('a port in use is reported with a remedy', async () => {
  const other = await startSimulator()
  const { error, code } = await run('--port', String(other.port))
  await other.stop()
  expect(code).toBe(1)
  expect(error).toContain(
    `cannot listen on port ${other.port} of 127.0.0.1: another program uses it; choose another with --port`,
  )
})

test('an address that this machine does not have', async () => {
  // An address for documentation (RFC 5737).
  const { error, code } = await run('--port', '0', '--host', '192.0.2.1')
  expect(code).toBe(1)
  expect(error).toContain("cannot listen on '192.0.2.1'")
  expect(error).toContain('--host')
})

for (const seed of ['-1', '1.5', 'x', '9007199254740993'])
  test(`the seed ${seed} is refused`, async () => {
    const { error, code } = await run('--seed', seed)
    expect(code).toBe(2)
    expect(error).toContain(`--seed must be a whole number from 0 to 9007199254740991; got '${seed}'`)
  })
