/** The soak of `npm run soak`, for a short time, and what shows that it would tell. */
import { expect, test } from 'bun:test'
import { answer, rawUpstream } from '../support/upstreams/raw-upstream.ts'
import { answerText, foreignBytes, mark, readOrder } from './marks.ts'
import type { Order } from './marks.ts'
import { soak } from './soak.ts'
import { soakedGateway } from './soaked-gateway.ts'

test('1,500 requests of 20 keys, clients that leave, an upstream that lies: no byte of another, nothing leaks', async () => {
  const { tally, leakedSockets } = await soakedGateway({ requests: 1500, clients: 32, keys: 20, seed: 1 })
  expect(tally.examples).toEqual([])
  expect([tally.foreignBytes, tally.wrong, leakedSockets]).toEqual([0, 0, 0])
  expect(tally.complete).toBeGreaterThan(500)
  expect(tally.failed).toBeGreaterThan(150)
  expect(tally.left).toBeGreaterThan(30)
}, 60_000)

test('a byte of another request, key or position is a foreign byte', () => {
  const order: Order = { id: 7, key: 3, lie: 'truth', marks: 20 }
  const text = answerText(order)
  expect([text.length, foreignBytes(`{"content":"${text}"}`, order)]).toEqual([160, 0])
  for (const other of [mark({ ...order, id: 8 }, 20), mark({ ...order, key: 4 }, 20), mark(order, 21), mark(order, 19)])
    expect(foreignBytes(text + other, order)).toBe(8)
  expect(foreignBytes(text.slice(8), order)).toBe(152)
})

test('a server that gives one client the answer of another is found out', async () => {
  let swaps = 0
  const server = await rawUpstream({
    onRequest({ socket }, request) {
      const order = readOrder(request)!
      const isSwapped = swaps++ % 10 === 9
      const content = answerText(isSwapped ? { ...order, id: order.id + 1 } : order)
      socket.write(answer(JSON.stringify({ choices: [{ message: { content } }] })))
    },
  })
  const tally = await soak({ port: server.port, keys: ['a', 'b'], requests: 200, clients: 1, seed: 1 })
  server.stop()
  expect(tally.foreignBytes).toBeGreaterThan(100)
  expect(tally.wrong).toBeGreaterThan(10)
  expect(tally.examples[0]).toMatch(/soak \d+/)
})
