/** Opens many streams at once, reads them to their end and counts events; prints one JSON line. */
import { requestBody } from './fixtures.ts'

const [base, path, key, streamsText, secondsText] = process.argv.slice(2) as [string, string, string, string, string]
const streams = Number(streamsText)
const seconds = Number(secondsText)
const { hostname, port } = new URL(base)
const body = JSON.stringify({ ...JSON.parse(requestBody), stream: true, stream_options: { include_usage: true } })
const headers = (process.env.BENCH_HEADERS ?? '').split('\n').flatMap(line => (line === '' ? [] : [`${line}\r\n`]))
const request = Buffer.from(
  `POST ${path} HTTP/1.1\r\nhost: ${hostname}:${port}\r\nauthorization: Bearer ${key}\r\ncontent-type: application/json\r\n${headers.join('')}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
)
let events = 0
let complete = 0
let failed = 0
const mark = Buffer.from('"choices":[{')
const done = Buffer.from('[DONE]')

function open(): void {
  Bun.connect({
    hostname,
    port: Number(port),
    socket: {
      open: socket => void socket.write(request),
      data(socket, bytes) {
        for (let at = bytes.indexOf(mark); at >= 0; at = bytes.indexOf(mark, at + 12)) events++
        if (bytes.includes(done)) {
          complete++
          socket.end()
        }
      },
      close() {},
      error() {
        failed++
      },
      connectError() {
        failed++
      },
    },
  }).catch(() => failed++)
}

for (let at = 0; at < streams; at++) {
  open()
  if (at % 25 === 24) await Bun.sleep(5)
}
await Bun.sleep(500)
const before = events
console.log(JSON.stringify({ started: true }))
await Bun.sleep(seconds * 1000)
console.log(JSON.stringify({ events: events - before, complete, failed }))
process.exit(0)
