/** AWS's own packages as referees of signatures and event streams. */
import { Sha256 } from '@aws-crypto/sha256-js'
import { EventStreamCodec } from '@smithy/eventstream-codec'
import { SignatureV4 } from '@smithy/signature-v4'
import { expect, test } from 'bun:test'
import { EventStreamSplitter } from '../../src/lib/aws/aws-event-stream.ts'
import { signAwsCall } from '../../src/lib/aws/aws-signature.ts'
import { cut, randomOf } from './random.ts'

const random = randomOf(11)
const ascii = "abcXYZ019-._~:/?#[]@!$&'()*,;= %"
const unicode = `${ascii}äß東😀`

function call() {
  const segments = Array.from({ length: random.below(4) }, () => encodeURIComponent(random.text(unicode, 8)))
  const path = `/${segments.join('/')}`
  const query = Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [`n${random.text('abXY-._~$! äß', 5)}`, random.text(unicode, 8)]),
  )
  const headers = Object.fromEntries(
    Array.from({ length: random.below(4) }, () => [
      random.of(['Content-Type', 'x-amz-target', 'X-Amzn-Trace', 'x-custom']),
      random.text(`${ascii}  `, 12).trim(),
    ]),
  )
  const token = random.below(2) === 0 ? undefined : `T${random.text('abcd+/=', 40)}`
  return { method: random.of(['GET', 'POST', 'PUT']), path, query, headers, body: random.bytes(64), token }
}

test('600 calls are signed as by @smithy/signature-v4', async () => {
  for (let round = 0; round < 600; round++) {
    const { method, path, query, headers, body, token } = call()
    const credentials = { accessKeyId: 'AKID', secretAccessKey: random.text('abc/+', 40), sessionToken: token }
    const [region, service] = [random.of(['us-east-1', 'eu-west-1']), random.of(['bedrock', 'sts'])]
    const epochMs = Date.UTC(2015, 0, 1) + random.below(4e9) * 100
    const signer = new SignatureV4({ credentials, region, service, sha256: Sha256, applyChecksum: false })
    const host = random.of(['h.example', 'h.example:8443'])
    // A `+` in a query is a blank to a URL and a plus to the referee: both are written in percents here.
    const search = Object.entries(query).map(pair => pair.map(encodeURIComponent).join('='))
    const url = `https://${host}${path}${search.length > 0 ? `?${search.join('&')}` : ''}`
    // The path as it is sent: a URL has no segments `.` and `..`.
    const sent = { method, protocol: 'https:', hostname: host, path: new URL(url).pathname, query, body }
    const signed = await signer.sign({ ...sent, headers: { ...headers, host } }, { signingDate: new Date(epochMs) })
    const own = signAwsCall({ method, url, headers, body: [body] }, credentials, { region, service }, epochMs)
    expect([url, headers, own.authorization]).toEqual([url, headers, signed.headers.authorization])
  }
})

const codec = new EventStreamCodec(
  bytes => Buffer.from(bytes as Uint8Array).toString('utf8'),
  text => Buffer.from(text, 'utf8'),
)

function header() {
  return random.of([
    { type: 'string', value: random.text(unicode, 12) },
    { type: 'boolean', value: random.below(2) === 0 },
    { type: 'byte', value: random.below(128) },
    { type: 'short', value: random.below(30_000) },
    { type: 'integer', value: random.below(1e9) },
    { type: 'binary', value: new Uint8Array(random.bytes(8)) },
    { type: 'timestamp', value: new Date(random.below(1e9) * 1000) },
    { type: 'uuid', value: 'f81d4fae-7dec-11d0-a765-00a0c91e6bf6' },
  ] as const)
}

test('600 messages of @smithy/eventstream-codec are read as they were written, wherever they are cut', () => {
  const splitter = new EventStreamSplitter()
  for (let round = 0; round < 600; round++) {
    const event = random.text('abcXYZ-', 10)
    const data = random.text(unicode, 60)
    const headers = {
      ':message-type': { type: 'string', value: 'event' },
      ':event-type': { type: 'string', value: event },
    }
    const more = Object.fromEntries(Array.from({ length: random.below(5) }, (_, at) => [`h${at}`, header()]))
    const body = Buffer.from(data, 'utf8')
    const bytes = Buffer.from(codec.encode({ headers: { ...headers, ...more } as never, body: new Uint8Array(body) }))
    const frames = cut(bytes, random).flatMap(piece => splitter.push(piece))
    expect(frames).toEqual([{ event, data }])
  }
  expect([splitter.end(), splitter.rest()]).toEqual([[], ''])
})

test('of 600 damaged messages none is read that the codec refuses', () => {
  let refused = 0
  for (let round = 0; round < 600; round++) {
    const headers = { ':event-type': { type: 'string', value: 'e' } } as const
    const bytes = Buffer.from(codec.encode({ headers, body: new Uint8Array(random.bytes(40)) }))
    const at = random.below(bytes.length)
    bytes[at]! ^= 1 << random.below(8)
    const isRead = (read: () => unknown): boolean => {
      try {
        read()
        return true
      } catch {
        return false
      }
    }
    const theirs = isRead(() => codec.decode(bytes))
    // A length that grew waits for more bytes, which never come: nothing is read.
    const frames: unknown[] = []
    const own = isRead(() => frames.push(...new EventStreamSplitter().push(bytes))) && frames.length > 0
    if (!theirs) refused++
    expect([round, own]).toEqual([round, theirs])
  }
  expect(refused).toBe(600)
})
