/** WebSockets on raw sockets: what their framing leaves to this server. Framing itself: `npm run websockets`. */
import { afterEach, expect, test } from 'bun:test'
import type { Answer } from '../../core/answer.ts'
import type { MessageSession, MessageSocket } from '../../core/message-socket.ts'
import { webSocketAccept } from '../../lib/websocket-handshake.ts'
import { closeRigs, serverRig, settle, text } from '../../../tests/support/network/http-server-rig.ts'
import type { RawClient, ServerRig } from '../../../tests/support/network/http-server-rig.ts'
import { until } from '../../../tests/support/until.ts'

afterEach(closeRigs)

interface Heard {
  readonly messages: string[]
  drains: number
  closes: number
  away: number
  isBusy: boolean
  socket: MessageSocket | undefined
}

function rig(messageBytesMax = 1000, max = Infinity): ServerRig & { readonly heard: Heard } {
  const heard: Heard = { messages: [], drains: 0, closes: 0, away: 0, isBusy: false, socket: undefined }
  const session: MessageSession = {
    get busy() {
      return heard.isBusy
    },
    message: one => void heard.messages.push(one),
    drained: () => void heard.drains++,
    closed: () => void heard.closes++,
    goAway() {
      heard.away++
      heard.socket!.close(1001, 'going away')
    },
    interrupt() {},
  }
  const handle = async ({ headers }: { headers: { get(name: string): string | null } }): Promise<Answer> => {
    const handshake = webSocketAccept(headers)
    if ('problem' in handshake) return text(handshake.problem, 400)
    const open = (socket: MessageSocket): MessageSession => {
      heard.socket = socket
      return session
    }
    const upgrade = { accept: handshake.accept, messageBytesMax, subprotocol: 'one', open }
    return { status: 101, headers: {}, body: null, upgrade }
  }
  const limit = { max, turnAway: () => text('full', 503), reached() {} }
  return { ...serverRig(handle, max === Infinity ? {} : { limit }), heard }
}

const request =
  'GET / HTTP/1.1\r\nhost: x\r\nconnection: keep-alive, Upgrade\r\nupgrade: websocket\r\n' +
  'sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n'

/** Masked by zeros. */
function frame(payload: string | Uint8Array, opcode = 1, { isLast = true, isMasked = true } = {}): Buffer {
  const bytes = Buffer.from(payload as string)
  const length = bytes.length < 126 ? [bytes.length] : [126, bytes.length >> 8, bytes.length & 255]
  const mask = isMasked ? 0x80 : 0
  const head = Buffer.from([(isLast ? 0x80 : 0) | opcode, mask | length[0]!, ...length.slice(1)])
  return Buffer.concat([head, Buffer.alloc(isMasked ? 4 : 0), bytes])
}

async function opened({ client, heard }: ReturnType<typeof rig>): Promise<RawClient> {
  const made = client()
  made.send(request)
  await until(() => made.heard.includes('\r\n\r\n') && heard.socket !== undefined, 'an answer')
  return made
}

/** What was heard behind the head. */
const frames = ({ heard }: RawClient): string => heard.slice(heard.indexOf('\r\n\r\n') + 4)
const closeCode = (one: RawClient): number | undefined => {
  const at = frames(one).indexOf('\x88')
  return at < 0 ? undefined : frames(one).charCodeAt(at + 2) * 256 + frames(one).charCodeAt(at + 3)
}

test('the handshake is that of RFC 6455, and bytes sent with it are not lost', async () => {
  const at = rig()
  const one = at.client()
  one.send(Buffer.concat([Buffer.from(request), frame('early'), frame('more')]))
  await until(() => at.heard.messages.length === 2, 'two messages')
  expect(at.heard.messages).toEqual(['early', 'more'])
  expect(one.heard).toStartWith('HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n')
  expect(one.heard).toContain('sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nsec-websocket-protocol: one\r\n')
})

test('messages go both ways, in pieces and cut anywhere', async () => {
  const at = rig()
  const one = await opened(at)
  const bytes = Buffer.concat([frame('ä'.repeat(60), 1, { isLast: false }), frame('!', 0), frame('x'.repeat(900))])
  for (const byte of bytes) {
    one.send(Uint8Array.of(byte))
    if (byte === 0x80) await settle()
  }
  await until(() => at.heard.messages.length === 2, 'two messages')
  expect(at.heard.messages).toEqual([`${'ä'.repeat(60)}!`, 'x'.repeat(900)])
  at.heard.socket!.send('answer')
  await until(() => frames(one).endsWith('\x81\x06answer'), 'the answer')
})

test.each([
  ['a message that is too large', frame('x'.repeat(1001)), 1009],
  [
    'pieces that are too large together',
    Buffer.concat([frame('x'.repeat(900), 1, { isLast: false }), frame('x'.repeat(900), 0)]),
    1009,
  ],
  ['a frame without a mask', frame('x', 1, { isMasked: false }), 1002],
  ['bytes for a session of texts', frame('x', 2), 1003],
  ['text that is no UTF-8', frame(Uint8Array.of(0xff, 0xfe)), 1007],
  ['a close of the client', frame(Uint8Array.of(3, 232), 8), 1000],
])('%s ends it with its code, once', async (_, bytes, code) => {
  const at = rig()
  const one = await opened(at)
  one.send(bytes)
  await until(() => closeCode(one) !== undefined, 'a close')
  expect(closeCode(one)).toBe(code)
  await until(() => one.ended, 'FIN')
  one.send(frame('late'))
  one.socket.end()
  await until(() => at.server.connections === 0, 'no connection')
  expect([at.heard.messages, at.heard.closes, at.reports]).toEqual([[], 1, []])
})

test('a ping is answered; a silent client is asked, and cut when it stays silent', async () => {
  const at = rig()
  const [lively, silent] = [await opened(at), await opened(at)]
  lively.send(frame('hm', 9))
  await until(() => frames(lively).includes('\x8a\x02hm'), 'a pong')
  at.clock.advance(31_000)
  await until(() => frames(lively).includes('\x89\x00') && frames(silent).includes('\x89\x00'), 'a ping')
  lively.send(frame('', 10))
  await settle()
  at.clock.advance(31_000)
  await until(() => silent.closed || silent.ended, 'the end')
  expect([lively.closed, at.heard.closes]).toEqual([false, 1])
})

test('what a client does not read waits, and its session is told when there is room', async () => {
  const at = rig()
  const one = await opened(at)
  one.socket.pause()
  const { socket } = at.heard
  let sent = 0
  while (!socket!.full) {
    socket!.send('x'.repeat(60_000))
    if (++sent % 10 === 0) await settle()
  }
  const before = at.heard.drains
  one.socket.resume()
  await until(() => at.heard.drains > before && !socket!.full, 'room')
  // Each message has a head of 4 bytes.
  await until(() => frames(one).length === sent * 60_004, 'all of it')
})

test('a place that another needs is taken from an idle one alone, which is told to go away', async () => {
  const at = rig(1000, 1)
  const one = await opened(at)
  at.heard.isBusy = true
  at.clock.advance(11_000)
  expect((await fullOrNot(at)).status).toBe(503)
  at.heard.isBusy = false
  await until(async () => {
    at.clock.advance(200)
    return (await fullOrNot(at)).status !== 503
  }, 'a place')
  expect([at.heard.away, closeCode(one)]).toEqual([1, 1001])
})

async function fullOrNot({ client }: ServerRig): Promise<{ status: number }> {
  const other = client()
  other.send('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n')
  return other.answer()
}

test('a stop tells it to go away', async () => {
  const at = rig()
  const one = await opened(at)
  const stopped = at.server.stop()
  await until(() => closeCode(one) === 1001, 'a close')
  one.socket.end()
  await stopped
})
