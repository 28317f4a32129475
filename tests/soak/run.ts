/**
 * `npm run soak -- --requests 1000000 --clients 64 --keys 50 --seed 7`: a real gateway between many clients and an
 * upstream that lies. Prints foreign bytes, wrong answers and leaked sockets, and ends with status 1 if there are any.
 */
import { parseArgs } from 'node:util'
import { soakedGateway } from './soaked-gateway.ts'

const { values } = parseArgs({
  options: {
    requests: { type: 'string', default: '100000' },
    clients: { type: 'string', default: '64' },
    keys: { type: 'string', default: '50' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
})
const [requests, clients, keys, seed] = [values.requests, values.clients, values.keys, values.seed].map(Number) as [
  number,
  number,
  number,
  number,
]
if (![requests, clients, keys, seed].every(Number.isInteger)) throw new Error('every option must be an integer')

console.log(`seed ${seed}: ${requests} requests, ${clients} clients, ${keys} keys`)
const startedMs = performance.now()
let shownMs = startedMs
const { tally, leakedSockets } = await soakedGateway({ requests, clients, keys, seed }, so => {
  if (performance.now() - shownMs < 10_000) return
  shownMs = performance.now()
  console.log(`${so.requests} requests, ${so.foreignBytes} foreign bytes, ${so.wrong} wrong answers`)
})
const seconds = (performance.now() - startedMs) / 1000
for (const example of tally.examples) console.log(example)
console.log(
  `${tally.requests} requests in ${seconds.toFixed(0)} s: ${tally.complete} complete, ${tally.failed} failed as they ` +
    `had to, ${tally.left} left by their clients, ${tally.marks} marks; ${Math.round(process.memoryUsage.rss() / 2 ** 20)} MiB`,
)
console.log(`${tally.foreignBytes} foreign bytes, ${tally.wrong} wrong answers, ${leakedSockets} leaked sockets`)
process.exit(tally.foreignBytes + tally.wrong + leakedSockets > 0 ? 1 : 0)
