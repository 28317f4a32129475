import { expect, test } from 'bun:test'
import { FakeConnection } from '../support/network/http-server-rig.ts'

test('a head of 64 KiB that drips byte by byte, and 64 KiB of pipelined bytes that do, cost linear time', async () => {
  const startMs = performance.now()
  const head = new FakeConnection()
  const bytes = Buffer.from(`GET /a HTTP/1.1\r\nhost: x\r\nx: ${'y'.repeat(65_000)}\r\n\r\n`)
  for (let i = 0; i < bytes.length; i++) head.connection.data(Buffer.of(bytes[i]!))
  expect(head.requests.length).toBe(1)
  head.connection.lost()
  const pipelined = new FakeConnection(() => new Promise(() => {}))
  pipelined.receive('GET /slow HTTP/1.1\r\nhost: x\r\n\r\n')
  for (let i = 0; i < 64 * 1024; i++) pipelined.connection.data(Buffer.of(120))
  expect(pipelined.socket.paused).toBe(false)
  pipelined.connection.data(Buffer.of(120))
  expect(pipelined.socket.paused).toBe(true)
  pipelined.connection.lost()
  expect(performance.now() - startMs).toBeLessThan(400)
})
