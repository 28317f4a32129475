/** An upstream that streams events at a fixed pace, cheaply enough to share a core with the load. */
import {
  firstEvent,
  foreignFirstEvents,
  foreignLastEvents,
  foreignMiddleEvent,
  lastEvents,
  middleEvents,
} from './fixtures.ts'

const [port, events, gapMs] = process.argv.slice(2, 5).map(Number) as [number, number, number]
const isForeign = process.argv[5] === 'foreign'
const head = 'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n'
const chunk = (text: string) => Buffer.from(`${Buffer.byteLength(text).toString(16)}\r\n${text}\r\n`)
const first = Buffer.concat([Buffer.from(head), chunk(isForeign ? foreignFirstEvents : firstEvent)])
const middles = (isForeign ? [foreignMiddleEvent] : middleEvents).map(chunk)
const last = Buffer.concat([chunk(isForeign ? foreignLastEvents : lastEvents), Buffer.from('0\r\n\r\n')])

interface State {
  pending: string
  sent: number
}
type Socket = Bun.Socket<State>

/** One bucket a millisecond: streams are spread over the gap, not sent in one burst. */
const buckets: Set<Socket>[] = Array.from({ length: gapMs }, () => new Set())
let next = 0

Bun.listen<State>({
  hostname: '127.0.0.1',
  port,
  socket: {
    open(socket) {
      socket.data = { pending: '', sent: -1 }
    },
    data(socket, bytes) {
      const state = socket.data
      state.pending += bytes.toString('latin1')
      const end = state.pending.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/content-length: (\d+)/i.exec(state.pending)?.[1] ?? 0)
      if (state.pending.length < end + 4 + length) return
      state.pending = ''
      state.sent = 0
      socket.write(first)
      buckets[next++ % gapMs]!.add(socket)
    },
    close(socket) {
      for (const bucket of buckets) bucket.delete(socket)
    },
    error() {},
  },
})

let tick = 0
const from = performance.now()
setInterval(() => {
  const due = Math.floor(performance.now() - from)
  for (; tick < due; tick++)
    for (const socket of buckets[tick % gapMs]!) {
      if (++socket.data.sent < events) socket.write(middles[socket.data.sent % middles.length]!)
      else {
        socket.write(last)
        buckets[tick % gapMs]!.delete(socket)
      }
    }
}, 1)
console.log('ready')
